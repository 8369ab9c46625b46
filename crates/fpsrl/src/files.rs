//! Atomic, versioned files.

/// Numbers that may be -∞, which JSON cannot say: null stands for it.
pub(crate) mod infinite {
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    pub(crate) fn serialize<S: Serializer>(values: &[f64], serializer: S) -> Result<S::Ok, S::Error> {
        let values: Vec<Option<f64>> = values.iter().map(|value| value.is_finite().then_some(*value)).collect();
        values.serialize(serializer)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<f64>, D::Error> {
        let values = Vec::<Option<f64>>::deserialize(deserializer)?;
        Ok(values.into_iter().map(|value| value.unwrap_or(f64::NEG_INFINITY)).collect())
    }
}
