//! Controllers of `fpsrl` for other machines and tools.
//!
//! [`export`] turns a policy into code or data of another language, with test vectors and a certificate. [`import`] reads
//! rules of other tools, and what was exported, as policies. [`verify`] stands above both: it runs an export over its test
//! vectors, by the tool that it is for or by our own reader.

pub mod export;
pub mod import;
pub mod verify;
