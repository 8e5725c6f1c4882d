//! Normalisation: different spellings of one thing become one key.

use super::url;

/// What is done to a key before it is hashed, so that different spellings of one thing are one
/// key.
///
/// The [name](Normalizer::name) is written in a filter's file, and lookups normalise alike. So the
/// meaning of a name is frozen: a better rule gets a new name.
///
/// ```
/// use mayhap_store::keys::Normalizer;
/// let mut key = Vec::new();
/// assert!(Normalizer::Url.apply(b"HTTP://Example.COM:80/a/../b#top", &mut key));
/// assert_eq!(key, b"http://example.com/b");
/// assert!(!Normalizer::Url.apply(b"no url", &mut key));
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Normalizer {
    /// Nothing.
    #[default]
    None,
    /// Lowercase, by Unicode's language-independent rules. Bytes that are not UTF-8 are unchanged.
    Lower,
    /// Hexadecimal digits: surrounding spaces and a `0x` prefix are dropped, letters are lowercase.
    Hex,
    /// An e-mail address: surrounding spaces, `mailto:` and angle brackets are dropped; everything
    /// is lowercase; the domain is in its ASCII form. No provider's own rules (dots, plus signs).
    Email,
    /// A URL in the WHATWG standard's form: scheme and host in lowercase, the host in its ASCII
    /// form, default port and dot segments dropped; and without its fragment.
    Url,
    /// As `Url`; and without scheme, `www.`, slashes at the end of the path and
    /// [tracking parameters](super::TRACKING_PARAMS), the query sorted by name. What lacks a scheme is
    /// read as if it began with `http://`.
    UrlLoose,
}

impl Normalizer {
    /// All of them.
    pub const ALL: [Normalizer; 6] = [
        Normalizer::None,
        Normalizer::Lower,
        Normalizer::Hex,
        Normalizer::Email,
        Normalizer::Url,
        Normalizer::UrlLoose,
    ];

    /// The name on the command line and in files.
    pub const fn name(self) -> &'static str {
        match self {
            Normalizer::None => "none",
            Normalizer::Lower => "lower",
            Normalizer::Hex => "hex",
            Normalizer::Email => "email",
            Normalizer::Url => "url",
            Normalizer::UrlLoose => "url-loose",
        }
    }

    /// The one with this name; a file without one has "".
    pub fn from_name(name: &str) -> Option<Normalizer> {
        if name.is_empty() {
            return Some(Normalizer::None);
        }
        Normalizer::ALL.into_iter().find(|normalizer| normalizer.name() == name)
    }

    /// The name to be written in a file: "" for none.
    pub const fn note(self) -> &'static str {
        match self {
            Normalizer::None => "",
            other => other.name(),
        }
    }

    /// Replace `normal` by the normal form of a key. `false` if the key is not of this sort.
    pub fn apply(self, key: &[u8], normal: &mut Vec<u8>) -> bool {
        normal.clear();
        match self {
            Normalizer::None => normal.extend_from_slice(key),
            Normalizer::Lower => lower(key, normal),
            Normalizer::Hex => return hex(key, normal),
            Normalizer::Email => return email(key, normal).is_some(),
            Normalizer::Url => return url::strict(key, normal).is_some(),
            Normalizer::UrlLoose => return url::loose(key, normal).is_some(),
        }
        true
    }
}

fn lower(key: &[u8], normal: &mut Vec<u8>) {
    if key.is_ascii() {
        normal.extend(key.iter().map(u8::to_ascii_lowercase));
        return;
    }
    for chunk in key.utf8_chunks() {
        // Character by character: the context has no effect, so that no part of a key changes
        // another.
        let lowered = chunk.valid().chars().flat_map(char::to_lowercase);
        let mut letter = [0; 4];
        lowered.for_each(|c| normal.extend_from_slice(c.encode_utf8(&mut letter).as_bytes()));
        normal.extend_from_slice(chunk.invalid());
    }
}

fn hex(key: &[u8], normal: &mut Vec<u8>) -> bool {
    let digits = key.trim_ascii();
    let digits = digits.strip_prefix(b"0x").or(digits.strip_prefix(b"0X")).unwrap_or(digits);
    normal.extend(digits.iter().map(u8::to_ascii_lowercase));
    !digits.is_empty() && digits.iter().all(u8::is_ascii_hexdigit)
}

fn email(key: &[u8], normal: &mut Vec<u8>) -> Option<()> {
    let text = str::from_utf8(key).ok()?.trim();
    let text = text.strip_prefix('<').and_then(|text| text.strip_suffix('>')).unwrap_or(text);
    let text = match text.split_at_checked(7) {
        Some((scheme, rest)) if scheme.eq_ignore_ascii_case("mailto:") => rest,
        _ => text,
    };
    // A quoted local part may contain an @ of its own: the last one counts.
    let (local, domain) = text.rsplit_once('@')?;
    if local.is_empty() || domain.is_empty() || text.contains(char::is_whitespace) {
        return None;
    }
    lower(local.as_bytes(), normal);
    normal.push(b'@');
    let literal = domain.starts_with('[') && domain.ends_with(']');
    if literal {
        lower(domain.as_bytes(), normal);
    } else {
        let domain = idna::domain_to_ascii(domain.strip_suffix('.').unwrap_or(domain)).ok()?;
        normal.extend_from_slice(domain.as_bytes());
    }
    Some(())
}

#[cfg(test)]
mod tests;
