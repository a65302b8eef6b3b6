//! Reports of a measurement: a table, JSON and CSV ([`report`]), figures ([`figure`]) and what they draw of several rows ([`curves`]), and a
//! page ([`page`]), each with the [`machine`].

pub mod curves;
pub mod figure;
pub mod machine;
pub mod page;
pub mod report;
pub mod section;
