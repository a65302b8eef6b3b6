//! Statistics of paired samples: ratios with intervals, and the rows of a report.

pub mod ratio;
pub mod row;
