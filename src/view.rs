//! Pages, charts and tables for the browser and the terminal, from plain data.

pub mod bar;
pub(crate) mod diagnoses;
pub mod explain;
pub(crate) mod history;
pub mod html;
pub(crate) mod plan;
pub(crate) mod report;
pub mod scale;
mod figures;
pub(crate) mod screen;
pub(crate) mod simulation;
pub mod status;
pub mod table;
pub mod words;
