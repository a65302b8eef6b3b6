//! Reports of what was measured: a table, JSON, CSV, and a page.

pub mod figure;
pub mod page;
pub mod report;
pub mod section;
