//! HTML pages that load nothing: one file with its own style and script.
//!
//! Pages are built with [`maud::html!`], which escapes every value. Names in a cluster are chosen
//! by its users, so a page must also be safe from characters that change the direction of text:
//! [`HtmlPage::render`] replaces those.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use maud::{DOCTYPE, Markup, PreEscaped, html};
use ring::digest::{SHA256, digest};

/// Colours that can be told apart without red and green: hot is orange and dark, idle is blue, even
/// is grey.
pub const PALETTE: &str = include_str!("palette.css");

/// One page.
pub struct HtmlPage<'d> {
    /// The title in the browser's tab.
    pub title: &'d str,
    /// The whole style sheet.
    pub style: &'d str,
    /// The whole script.
    pub script: &'d str,
    /// Further elements of the head.
    pub head: Markup,
    /// The class of the body.
    pub body_class: Option<&'static str>,
    /// The content.
    pub body: Markup,
}

impl HtmlPage<'_> {
    /// Returns the page as text. Control characters and characters that change the direction of
    /// text become U+FFFD.
    pub fn render(self) -> String {
        let page = html! {
            (DOCTYPE)
            html lang="en" {
                head {
                    meta charset="utf-8";
                    meta name="viewport" content="width=device-width, initial-scale=1";
                    meta name="color-scheme" content="light dark";
                    // Without this link the browser would ask for /favicon.ico.
                    link rel="icon" href="data:,";
                    (self.head)
                    title { (self.title) " · evenkeel" }
                    style { (PreEscaped(self.style)) }
                }
                body class=[self.body_class] {
                    (self.body)
                    script { (PreEscaped(self.script)) }
                }
            }
        };
        neutralised(&page.into_string())
    }
}

/// Returns the Content-Security-Policy of a page: only this style and this script, both named by
/// their hashes.
pub fn content_security_policy(style: &str, script: &str) -> String {
    format!(
        "default-src 'none'; style-src {}; script-src {}; img-src data:; base-uri 'none'; \
         form-action 'none'",
        source_hash(style),
        source_hash(script)
    )
}

fn source_hash(text: &str) -> String {
    format!("'sha256-{}'", STANDARD.encode(digest(&SHA256, text.as_bytes())))
}

fn neutralised(page: &str) -> String {
    page.chars()
        .map(|c| if (c.is_control() && c != '\n') || changes_direction(c) { '\u{fffd}' } else { c })
        .collect()
}

/// Whether a character changes the direction of text:
/// <https://www.unicode.org/reports/tr9/#Directional_Formatting_Characters>.
const fn changes_direction(c: char) -> bool {
    matches!(
        c,
        '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}'
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOSTILE: &str = "\"><script>alert('1')</script>&\u{0}\u{202e}ä";

    #[test]
    fn hostile_text_is_escaped_in_elements_attributes_and_the_title() {
        let page = HtmlPage {
            title: HOSTILE,
            style: "b{color:red}",
            script: "let a='<b>&';",
            head: html! {},
            body_class: None,
            body: html! { b title=(HOSTILE) { (HOSTILE) } },
        }
        .render();
        assert_eq!(page.matches("<script>").count(), 1);
        let escaped = "&quot;&gt;&lt;script&gt;alert('1')&lt;/script&gt;&amp;\u{fffd}\u{fffd}ä";
        assert_eq!(page.matches(escaped).count(), 3, "{page}");
        assert!(page.contains("<script>let a='<b>&';</script>"));
    }

    #[test]
    fn the_policy_allows_style_and_script_only_by_their_hashes() {
        let policy = content_security_policy("b{}", "alert()");
        assert_eq!(policy.matches("'sha256-").count(), 2);
        assert!(!policy.contains("unsafe") && !policy.contains('*'), "{policy}");
    }
}
