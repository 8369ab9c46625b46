//! The page as a whole: its head, its order, its script.

use sha2::{Digest, Sha256};

use super::findings::Findings;
use super::modules::{STYLE, script};
use super::payload::payload;
use super::{front, proofs, rules, today, trade, verdict, weak};
use fpsrl_base::error::Result;
use fpsrl_explain::escape;

/// The page of a run.
pub(super) fn page(findings: &Findings) -> Result<String> {
    let script = format!("(() => {{\n{}}})();", script());
    let name = escape(findings.system.name());
    let parts = [
        ("verdict", "Verdict", verdict::verdict(findings)),
        ("today", "Today", today::today(findings)),
        ("rules", "Rules", rules::rules(findings) + &front::front(findings)),
        ("trade", "Trade-off", trade::trade(findings)),
        ("watch", "In motion", rules::watch(findings)),
        ("surface", "Control surface", rules::surface(findings)),
        ("weak", "Weak starts", weak::weak(findings)),
        ("evidence", "Evidence", proofs::evidence(findings)),
        ("stability", "Stability", proofs::stability(findings)),
        ("repeat", "To repeat it", proofs::repeat(findings)),
    ];
    let parts: Vec<_> = parts.into_iter().filter(|(_, _, content)| !content.is_empty()).collect();
    let links: String = parts.iter().map(|(id, title, _)| format!("<li><a href=\"#{id}\">{title}</a></li>")).collect();
    let main: String = parts
        .iter()
        .map(|(id, _, content)| format!("<section id=\"{id}\" aria-labelledby=\"{id}-title\">{content}</section>\n"))
        .collect();
    Ok(format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; \
         script-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'\">\n\
         <title>{name} \u{2013} fpsrl</title>\n<style>\n{STYLE}</style>\n</head>\n<body>\n\
         <a class=\"skip\" href=\"#rules\">Skip to the rules</a>\n\
         <header class=\"masthead\"><div><p class=\"kicker\">fpsrl report</p><h1><bdi>{name}</bdi></h1>\
         <p class=\"lead\">{lead}</p></div>\
         <nav aria-label=\"Sections\"><ul>{links}</ul></nav></header>\n\
         <main>\n{main}</main>\n\
         <footer><p>Written by fpsrl {version}. This page is one file and asks the network for nothing.</p></footer>\n\
         <script type=\"application/json\" \
         id=\"run-data\">{data}</script>\n<script>{script}</script>\n</body>\n</html>\n",
        digest = base64(&Sha256::digest(script.as_bytes())),
        lead = verdict::lead(findings),
        version = env!("CARGO_PKG_VERSION"),
        data = payload(findings)?,
    ))
}

/// Bytes in base64, as a page's policy wants its digests.
fn base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::new();
    for chunk in bytes.chunks(3) {
        let group = (0..3).fold(0u32, |group, index| group << 8 | u32::from(chunk.get(index).copied().unwrap_or(0)));
        for index in 0..4 {
            let digit = DIGITS[(group >> (18 - 6 * index)) as usize & 63];
            text.push(if index <= chunk.len() { char::from(digit) } else { '=' });
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::base64;

    /// The test vectors of RFC 4648.
    #[test]
    fn base64_gives_the_published_texts() {
        for (bytes, text) in [("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foobar", "Zm9vYmFy")] {
            assert_eq!(base64(bytes.as_bytes()), text);
        }
    }
}
