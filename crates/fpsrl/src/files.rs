//! Atomic, versioned files.
