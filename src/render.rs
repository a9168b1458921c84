//! HTML in which nothing that comes from elsewhere can be markup, and what all our pages have in common.

use std::fmt::{self, Write as _};

pub mod bar;
pub mod html;
pub mod scale;
pub mod words;

pub use self::html::PALETTE;

/// HTML under construction. Markup stands in the source of this program, which is why it is `&'static str`; all else is
/// text, and is escaped.
#[derive(Clone, Debug, Default)]
pub struct Html(String);

impl Html {
    /// Markup, as it stands in our source.
    pub fn tag(&mut self, markup: &'static str) -> &mut Self {
        self.0.push_str(markup);
        self
    }

    /// A text, between tags or within the quotes of an attribute.
    pub fn text(&mut self, text: impl fmt::Display) -> &mut Self {
        // Writing to a string cannot fail.
        let _ = write!(Escaping(&mut self.0), "{text}");
        self
    }

    /// What was made in the same way elsewhere.
    pub fn add(&mut self, other: &Html) -> &mut Self {
        self.0.push_str(&other.0);
        self
    }

    /// Whether nothing was written yet.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The HTML.
    pub fn finish(self) -> String {
        self.0
    }
}

struct Escaping<'h>(&'h mut String);

impl fmt::Write for Escaping<'_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        words::escape(text, self.0);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_stands_in_the_source_is_markup() {
        let mut html = Html::default();
        html.tag("<b title=\"")
            .text("\"><script>")
            .tag("\">")
            .text(format_args!("{} & {}", "<i>", 7))
            .tag("</b>");
        assert_eq!(
            html.finish(),
            "<b title=\"&quot;&gt;&lt;script&gt;\">&lt;i&gt; &amp; 7</b>"
        );
    }
}
