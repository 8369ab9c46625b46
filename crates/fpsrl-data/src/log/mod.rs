//! A log of the user's own: from the files of a historian to transitions.
//!
//! [`read()`] makes a [`Table`] of a file, whatever its format. [`record`] turns tables into
//! [`Transitions`](super::Transitions) by the roles that the problem file gives to columns. On the way everything that
//! real logs hold in store is looked for: what cannot be used is refused with its line, what can be repaired is
//! repaired and counted.

mod alignment;
mod arrays;
mod budget;
mod cell;
mod guess;
#[cfg(feature = "hdf5")]
mod hdf5;
mod import;
mod layout;
mod npz;
#[cfg(feature = "parquet")]
mod pages;
#[cfg(feature = "parquet")]
mod parquet;
mod read;
mod series;
mod table;
mod text;
#[cfg(feature = "parquet")]
mod thrift;
mod words;
mod zip;

pub use alignment::Alignment;
pub use guess::{Angle, Guess, InputGuess, InputKind, Settling, angle};
pub use import::{FileReport, ImportReport, Imported, Recording, columns_read, record, record_tables};
pub use layout::TextOptions;
pub use read::read;
pub use table::{CellFault, Column, Kind, Table, split_unit};
