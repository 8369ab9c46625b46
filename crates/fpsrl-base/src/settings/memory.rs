//! Amounts of memory as people write them.

/// An amount of memory in bytes, from how it is written; or the rule that it breaks.
///
/// ```
/// use fpsrl_base::settings::memory;
/// assert_eq!(memory("4 GB"), Ok(4_000_000_000));
/// assert_eq!(memory("1.5GB"), Ok(1_500_000_000));
/// assert_eq!(memory("512 MiB"), Ok(512 << 20));
/// assert!(memory("much").is_err());
/// ```
pub fn memory(written: &str) -> Result<u64, &'static str> {
    const RULE: &str = "an amount of memory is a number and a unit, such as 500MB or 4GB";
    let written = written.trim();
    let digits = written.find(|c: char| !(c.is_ascii_digit() || c == '.')).unwrap_or(written.len());
    let (number, unit) = written.split_at(digits);
    let unit = match unit.trim().to_ascii_lowercase().as_str() {
        "kb" => 1e3,
        "mb" => 1e6,
        "gb" => 1e9,
        "tb" => 1e12,
        "mib" => f64::from(1 << 20),
        "gib" => f64::from(1 << 30),
        _ => return Err(RULE),
    };
    match number.parse::<f64>().map(|number| number * unit) {
        Ok(bytes) if (1e6..=1e15).contains(&bytes) => Ok(bytes as u64),
        Ok(_) => Err("it is from 1MB to 1000TB"),
        Err(_) => Err(RULE),
    }
}

/// An amount of memory as [`memory`] reads it back.
pub fn memory_written(bytes: u64) -> String {
    let units = [(1_000_000_000_000, "TB"), (1_000_000_000, "GB"), (1_000_000, "MB")];
    match units.into_iter().find(|(unit, _)| bytes.is_multiple_of(*unit)) {
        Some((unit, name)) => format!("{} {name}", bytes / unit),
        None => format!("{} kB", bytes.div_ceil(1_000)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_of_memory_read_back() {
        for bytes in [1_000_000, 4_000_000_000, 1_500_000_000, 512 << 20, 3_000_000_000_000] {
            let again = memory(&memory_written(bytes)).unwrap();
            assert!(again >= bytes && again < bytes + 1_000, "{bytes} {again}");
        }
        for bad in ["", "GB", "4", "-1GB", "1e9 GB", "0 MB", "4 apples", "1kB", "1..5GB"] {
            assert!(memory(bad).is_err(), "{bad}");
        }
    }
}
