//! What runs of a sweep are called: names that can be read, that every file system takes, and that stay when a sweep grows.

use std::collections::{HashMap, HashSet};

use toml::Value;

/// Signs that no file system, shell or address has another meaning for.
fn is_safe(sign: char) -> bool {
    sign.is_ascii_alphanumeric() || "._-+=".contains(sign)
}

/// The longest name of a point; directories may have 255 signs.
const LONGEST: usize = 120;

/// Whether a user's name can be the name of a directory.
pub(super) fn is_name(text: &str) -> bool {
    !text.is_empty() && text.len() <= LONGEST && text.chars().all(is_safe) && !text.starts_with(['.', '-', '='])
}

/// A text as part of a name.
pub(super) fn safe(text: &str) -> String {
    let kept: String = text.chars().map(|sign| if is_safe(sign) { sign } else { '-' }).collect();
    let kept = kept.trim_matches(['-', '.', '=']).to_owned();
    if kept.is_empty() { "x".into() } else { kept }
}

/// A value for people: words without quotes.
pub(super) fn told(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Float(number) => format!("{number}"),
        Value::Array(list) => format!("[{}]", list.iter().map(told).collect::<Vec<_>>().join(", ")),
        other => other.to_string(),
    }
}

/// A value as part of a name. What a name cannot hold is told apart by a digest.
pub(super) fn named(value: &Value) -> String {
    let text = match value {
        Value::Array(list) => return list.iter().map(named).collect::<Vec<_>>().join("-"),
        other => told(other),
    };
    let kept = safe(&text);
    if kept == text {
        return kept;
    }
    let digest = fpsrl_base::files::sha256_of(text.as_bytes());
    format!("{}-{}", kept.chars().take(24).collect::<String>(), &digest[..6])
}

/// The shortest ends of settings' paths that tell them apart: `policy.rules` is `rules` where nothing else ends so.
pub(super) fn short_keys(keys: &[String]) -> Vec<String> {
    let end = |key: &str, parts: usize| {
        let all: Vec<&str> = key.split('.').collect();
        all[all.len().saturating_sub(parts)..].join(".")
    };
    let mut short: Vec<Option<String>> = vec![None; keys.len()];
    for parts in 1..8 {
        let ends: Vec<String> = keys.iter().map(|key| end(key, parts)).collect();
        let mut counts: HashMap<&str, usize> = HashMap::new();
        ends.iter().for_each(|end| *counts.entry(end).or_default() += 1);
        for (place, end) in short.iter_mut().zip(&ends).filter(|(place, _)| place.is_none()) {
            // These stand in names by themselves.
            let taken = ["seed", "log", "draw"].contains(&end.as_str());
            *place = (!taken && counts[end.as_str()] == 1).then(|| end.clone());
        }
    }
    short.into_iter().zip(keys).map(|(short, key)| short.unwrap_or_else(|| key.clone())).collect()
}

/// The name of a point by its settings, under their short keys; empty without any.
pub(super) fn of_point(settings: &[(String, Value)]) -> String {
    let parts: Vec<String> = settings.iter().map(|(key, value)| format!("{}={}", safe(key), named(value))).collect();
    let name = parts.join(",");
    if name.len() <= LONGEST {
        return name;
    }
    // What is too long to be read is told apart by its digest.
    let digest = fpsrl_base::files::sha256_of(name.as_bytes());
    let begin: String = name.chars().take(LONGEST - 20).collect();
    format!("{begin}-{}", &digest[..12])
}

/// The first name that another one equals, as far as a file system is concerned that knows no capitals.
pub(super) fn twice<'a>(names: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let mut seen = HashSet::new();
    names.into_iter().find(|name| !seen.insert(name.to_lowercase()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_as_short_as_they_can_be_told_apart() {
        let keys = ["horizon", "policy.rules", "search.start_states", "evaluation.start_states", "data.log"];
        let short = short_keys(&keys.map(str::to_owned));
        assert_eq!(short, ["horizon", "rules", "search.start_states", "evaluation.start_states", "data.log"]);
    }

    #[test]
    fn names_hold_only_what_every_file_system_takes() {
        let point = |value: &str| of_point(&[("world.reward".to_owned(), Value::String(value.into()))]);
        let name = point("-abs(level - 1) < 0.1 ? 0 : \"x\"/../");
        assert!(name.chars().all(|sign| is_safe(sign) || sign == ','), "{name}");
        assert!(!name.contains('/') && !name.starts_with('-'), "{name}");
        assert!(point(&"b".repeat(500)).len() <= LONGEST && point(&"b".repeat(500)) != point(&"b".repeat(501)));
        assert_ne!(point("a*b"), point("a/b"));
        let layers = Value::Array(vec![Value::Integer(10), Value::Integer(20)]);
        assert_eq!(of_point(&[("hidden".into(), layers), ("rules".into(), Value::Integer(2))]), "hidden=10-20,rules=2");
        assert!(is_name("wide-2") && !is_name("../up") && !is_name("") && !is_name(".hidden") && !is_name("a b"));
    }

    #[test]
    fn names_that_differ_only_by_capitals_are_the_same() {
        assert_eq!(twice(["a", "b", "A"].into_iter()), Some("A"));
        assert_eq!(twice(["a", "b"].into_iter()), None);
    }
}
