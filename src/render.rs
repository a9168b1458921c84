//! Bars, numbers and HTML pages that several outputs share.

pub mod bar;
pub mod html;
pub mod scale;
pub mod table;
pub mod words;
