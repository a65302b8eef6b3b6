//! Statistics of paired samples: ratios with their intervals ([`ratio`]), the rows of a report ([`row`]), and the speed-up of
//! rows on several threads ([`scaling`]).

pub mod ratio;
pub mod row;
pub mod scaling;
