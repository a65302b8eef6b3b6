//! Reports of a measurement: a table, JSON and CSV ([`report`]), figures ([`figure`]), and a page ([`page`]), each with the
//! [`machine`].

pub mod figure;
pub mod machine;
pub mod page;
pub mod report;
pub mod section;
