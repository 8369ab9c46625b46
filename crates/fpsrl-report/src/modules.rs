//! The page's script: the modules of `web/` joined to one, because a file opened from disk cannot import others.
//!
//! The sources are plain ES modules that import from each other by name, so that they run and are tested as they are.
//! Joined, they share one scope: imports and the word `export` go, and each top-level name must be there once.

/// The modules, each after those that it imports from.
const MODULES: [(&str, &str); 8] = [
    ("policy.js", include_str!("../web/policy.js")),
    ("world.js", include_str!("../web/world.js")),
    ("plant.js", include_str!("../web/plant.js")),
    ("format.js", include_str!("../web/format.js")),
    ("inputs.js", include_str!("../web/inputs.js")),
    ("surface.js", include_str!("../web/surface.js")),
    ("player.js", include_str!("../web/player.js")),
    ("page.js", include_str!("../web/page.js")),
];

/// The page's style.
pub(super) const STYLE: &str = include_str!("../web/report.css");

/// The page's script.
pub(super) fn script() -> String {
    let mut joined = String::from("\"use strict\";\n");
    for (_, source) in MODULES {
        for line in source.lines() {
            if line.starts_with("import ") {
                continue;
            }
            joined.push_str(line.strip_prefix("export ").unwrap_or(line));
            joined.push('\n');
        }
    }
    joined
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn modules_import_only_from_those_before_them_and_by_the_names_that_these_have() {
        let mut known: HashSet<&str> = HashSet::new();
        for (name, source) in MODULES {
            for line in source.lines().filter(|line| line.starts_with("import ")) {
                let from = line.split("from \"./").nth(1).and_then(|rest| rest.strip_suffix("\";"));
                let from = from.unwrap_or_else(|| panic!("{name}: an import of another form: {line}"));
                assert!(known.contains(from), "{name} imports {from}, which comes later or is missing");
                assert!(!line.contains(" as ") && !line.contains('*'), "{name}: {line}");
            }
            assert!(!source.contains("export default") && !source.contains("export {"), "{name}");
            known.insert(name);
        }
    }

    #[test]
    fn no_top_level_name_is_there_twice() {
        let script = script();
        let mut names = HashSet::new();
        for line in script.lines() {
            for keyword in ["function ", "const ", "let ", "class "] {
                let Some(rest) = line.strip_prefix(keyword) else { continue };
                let name: String = rest.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
                assert!(names.insert(name.clone()), "`{name}` is there twice");
            }
        }
        assert!(names.len() > 20 && !script.contains("\nimport ") && !script.contains("\nexport "));
    }

    #[test]
    fn the_script_can_stand_in_a_page() {
        assert!(!script().contains("</script") && !script().contains("<!--"));
        assert!(!STYLE.contains("</style"));
        for outside in ["http:", "https:", "//cdn", "@import", "url("] {
            assert!(!STYLE.contains(outside), "{outside}");
        }
    }
}
