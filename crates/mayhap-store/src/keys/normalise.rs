//! Different spellings of one thing become one key.

use super::url;

/// What is done to a key before it is hashed, so that different spellings of one thing are one
/// key.
///
/// The [name](Normaliser::name) is written in a filter's file, and whoever asks the filter
/// normalises alike. So what a name means is frozen: a better rule gets a new name.
///
/// ```
/// use mayhap_store::keys::Normaliser;
/// let mut key = Vec::new();
/// assert!(Normaliser::Url.apply(b"HTTP://Example.COM:80/a/../b#top", &mut key));
/// assert_eq!(key, b"http://example.com/b");
/// assert!(!Normaliser::Url.apply(b"no url", &mut key));
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Normaliser {
    /// Nothing.
    #[default]
    None,
    /// Lower case, by Unicode's rules that need no language. Bytes that are not UTF-8 stay.
    Lower,
    /// Hexadecimal digits: spaces around and a `0x` in front are dropped, letters are lower case.
    Hex,
    /// An e-mail address: spaces around, `mailto:` and angle brackets are dropped; all is lower
    /// case; the domain is in its ASCII form. No provider's own rules (dots, plus signs).
    Email,
    /// A URL as the WHATWG standard writes it: scheme and host in lower case, the host in its
    /// ASCII form, default port and dot segments dropped; and without its fragment.
    Url,
    /// As `Url`; and without scheme, `www.`, slashes at the end of the path and
    /// [tracking parameters](super::TRACKING), the query sorted by name. What lacks a scheme is
    /// read as if it began with `http://`.
    UrlLoose,
}

impl Normaliser {
    /// All of them.
    pub const ALL: [Normaliser; 6] = [
        Normaliser::None,
        Normaliser::Lower,
        Normaliser::Hex,
        Normaliser::Email,
        Normaliser::Url,
        Normaliser::UrlLoose,
    ];

    /// The name on the command line and in files.
    pub const fn name(self) -> &'static str {
        match self {
            Normaliser::None => "none",
            Normaliser::Lower => "lower",
            Normaliser::Hex => "hex",
            Normaliser::Email => "email",
            Normaliser::Url => "url",
            Normaliser::UrlLoose => "url-loose",
        }
    }

    /// The one of this name; a file that names none has "".
    pub fn from_name(name: &str) -> Option<Normaliser> {
        if name.is_empty() {
            return Some(Normaliser::None);
        }
        Normaliser::ALL.into_iter().find(|normaliser| normaliser.name() == name)
    }

    /// The name to be written in a file: "" for none.
    pub const fn note(self) -> &'static str {
        match self {
            Normaliser::None => "",
            other => other.name(),
        }
    }

    /// Replace `normal` by the normal form of a key. `false` where the key is not of this sort.
    pub fn apply(self, key: &[u8], normal: &mut Vec<u8>) -> bool {
        normal.clear();
        match self {
            Normaliser::None => normal.extend_from_slice(key),
            Normaliser::Lower => lower(key, normal),
            Normaliser::Hex => return hex(key, normal),
            Normaliser::Email => return email(key, normal).is_some(),
            Normaliser::Url => return url::strict(key, normal).is_some(),
            Normaliser::UrlLoose => return url::loose(key, normal).is_some(),
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
        // Letter by letter: a word's end has no say, so that no part of a key changes another.
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
    // A quoted local part may hold an @ of its own: the last one counts.
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
