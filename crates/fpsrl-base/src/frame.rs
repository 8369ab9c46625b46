//! What stands in place of a file's name where a log is no file but a table in memory, such as a data frame.

use std::path::Path;

/// The name of a log that is a table in memory. Nobody finds a file there; messages and run directories say so.
pub const FRAME: &str = "<frame>";

/// Whether a path is none, but stands for a table in memory.
///
/// ```
/// use fpsrl_base::frame::{FRAME, is_frame};
/// assert!(is_frame(FRAME.as_ref()) && !is_frame("log.csv".as_ref()));
/// ```
pub fn is_frame(path: &Path) -> bool {
    path.as_os_str() == FRAME
}
