//! Pages, charts and tables from plain data, for the browser and the terminal.

pub mod bar;
pub(crate) mod diagnoses;
pub mod explain;
pub(crate) mod history;
pub mod html;
pub(crate) mod plan;
pub(crate) mod report;
pub mod scale;
pub(crate) mod screen;
pub(crate) mod simulation;
pub mod status;
pub mod table;
pub mod words;
