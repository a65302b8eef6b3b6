//! Reports of a measurement: a table, JSON and CSV ([`report`]), figures ([`figure`]), and a page ([`page`]).

pub mod figure;
pub mod page;
pub mod report;
pub mod section;
