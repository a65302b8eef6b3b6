//! Statistics of paired samples: ratios with their intervals ([`ratio`]), the rows of a report ([`row`]), and what rows of several
//! sizes or numbers of threads tell together ([`curves`]).

pub mod curves;
pub mod ratio;
pub mod row;
