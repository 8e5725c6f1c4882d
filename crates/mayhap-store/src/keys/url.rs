//! Normalisation of URLs.

use url::Url;

/// Query parameters that say where a visitor came from, not which page it is: `url-loose` drops
/// them, and everything that begins with `utm_`. Case is ignored.
///
/// The list belongs to the frozen meaning of the name `url-loose`.
pub const TRACKING_PARAMS: [&str; 34] = [
    "__hsfp",
    "__hssc",
    "__hstc",
    "_ga",
    "_gl",
    "_hsenc",
    "_hsmi",
    "dclid",
    "epik",
    "fbclid",
    "gad_source",
    "gbraid",
    "gclid",
    "gclsrc",
    "hsctatracking",
    "igsh",
    "igshid",
    "irclickid",
    "li_fat_id",
    "mc_cid",
    "mc_eid",
    "mkt_tok",
    "msclkid",
    "oly_anon_id",
    "oly_enc_id",
    "rb_clickid",
    "s_cid",
    "srsltid",
    "ttclid",
    "twclid",
    "vero_id",
    "wbraid",
    "yclid",
    "ysclid",
];

/// The URL in the standard's form, without its fragment.
pub(super) fn strict(key: &[u8], normal: &mut Vec<u8>) -> Option<()> {
    let mut url = Url::parse(str::from_utf8(key).ok()?).ok()?;
    url.set_fragment(None);
    normal.extend_from_slice(url.as_str().as_bytes());
    Some(())
}

/// Host, path and query, without what does not distinguish pages.
pub(super) fn loose(key: &[u8], normal: &mut Vec<u8>) -> Option<()> {
    let url = parse_any(str::from_utf8(key).ok()?.trim())?;
    let host = url.host_str()?;
    if !url.username().is_empty() {
        normal.extend_from_slice(url.username().as_bytes());
        if let Some(password) = url.password() {
            normal.push(b':');
            normal.extend_from_slice(password.as_bytes());
        }
        normal.push(b'@');
    }
    let mut host = host;
    // The rest of www.com would be no host.
    while let Some(bare) = host.strip_prefix("www.").filter(|bare| bare.contains('.')) {
        host = bare;
    }
    normal.extend_from_slice(host.as_bytes());
    // Without a scheme the default ports of both are dropped.
    if let Some(port) = url.port().filter(|port| ![80, 443].contains(port)) {
        normal.push(b':');
        normal.extend_from_slice(port.to_string().as_bytes());
    }
    normal.extend_from_slice(url.path().trim_end_matches('/').as_bytes());
    let mut mark = b'?';
    for pair in sorted(url.query().unwrap_or_default()) {
        normal.push(mark);
        normal.extend_from_slice(pair.as_bytes());
        mark = b'&';
    }
    Some(())
}

/// A URL with a host, whose scheme may be missing.
fn parse_any(text: &str) -> Option<Url> {
    if let Ok(url) = Url::parse(text)
        && url.has_host()
    {
        return Some(url);
    }
    if let Some(rest) = text.strip_prefix("//") {
        return Url::parse(&format!("http://{rest}")).ok();
    }
    let authority = text.split(['/', '?', '#']).next().unwrap_or_default();
    // `host:8080` is a host, `mailto:ada` is not.
    let port = authority.split_once(':').map_or("", |(_, port)| port);
    let is_port = port.bytes().all(|byte| byte.is_ascii_digit());
    let is_host = !authority.is_empty() && is_port && !text.contains("://");
    is_host.then(|| Url::parse(&format!("http://{text}")).ok()).flatten()
}

/// The parameters that distinguish pages, sorted by name; equal names stay in order.
fn sorted(query: &str) -> Vec<&str> {
    let name = |pair: &&str| pair.split('=').next().unwrap_or_default().to_owned();
    let pairs = query.split('&').filter(|pair| !pair.is_empty() && !is_tracking(&name(pair)));
    let mut pairs: Vec<_> = pairs.collect();
    pairs.sort_by_key(name);
    pairs
}

fn is_tracking(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    name.starts_with("utm_") || TRACKING_PARAMS.binary_search(&name.as_str()).is_ok()
}
