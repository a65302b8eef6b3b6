//! Statistics of paired samples: ratios with their intervals ([`ratio`]), and the rows of a report ([`row`]).

pub mod ratio;
pub mod row;
