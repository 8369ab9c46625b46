//! Problems as a whole: what their parts refuse, and that what is written reads back.

mod limits;
mod round_trip;
