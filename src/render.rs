//! HTML in which nothing that comes from elsewhere can be markup, and what all our pages have in common.

use std::fmt::{self, Write as _};

pub mod scale;
pub mod table;
pub mod words;

/// Colours are told apart without red and green: what is hot is orange and dark, what is idle is blue, what is even is grey.
pub const PALETTE: &str = r"
:root{color-scheme:light dark;--paper:#fff;--ink:#1c2128;--soft:#59636e;--faint:#8c959f;--rule:#d8dee4;--grid:#eaeef2;--card:#f6f8fa;
--zone:#eef1f4;--zone-hot:#fff3e8;--hot:#c2410c;--idle:#2463a6;--even:#a9b3be;--track:#eef1f4;--mark:#1c2128;--halo:#fb923c;
--h0:#3f83c4;--h1:#82b1dc;--h2:#bdd7ee;--h3:#e9ecef;--h4:#d9dde2;--h5:#fcb97d;--h6:#f58a3c;--h7:#d9570f;--h8:#9a2f06;
--warm0:#c2410c;--warm1:#a8236f;--warm2:#8a6100;--warm3:#7c3626;
--cool0:#1f5fa8;--cool1:#00736a;--cool2:#6b4bb8;--cool3:#1c759f;--cool4:#4a761d;--cool5:#56616d}
@media screen and (prefers-color-scheme:dark){:root{--paper:#14181d;--ink:#e4e8ec;--soft:#9da7b3;--faint:#768390;--rule:#323a43;--grid:#252c34;--card:#1b2027;
--zone:#20272f;--zone-hot:#2d221b;--hot:#ff9a5c;--idle:#77b2f0;--even:#6b7682;--track:#262d35;--mark:#f4f6f8;--halo:#f97316;
--h0:#5b9fe6;--h1:#3f77b3;--h2:#2b5078;--h3:#252b32;--h4:#333b44;--h5:#8a4a1c;--h6:#c4621a;--h7:#f5893a;--h8:#ffc08a;
--warm0:#ff9a66;--warm1:#f08cc6;--warm2:#e3b74c;--warm3:#d8a08f;
--cool0:#7fb4f5;--cool1:#4fc7b5;--cool2:#b7a1f5;--cool3:#7ccaf0;--cool4:#a8ce72;--cool5:#a7b3c0}}
";

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
