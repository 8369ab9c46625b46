//! Holds crates and modules to layers: who needs whom has no cycle, so that each can be read and changed with only
//! what lies below it in mind.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::path::{Path, PathBuf};

use crate::Outcome;
use crate::source::{Token, tokens, without_tests};

/// Who needs whom, and the place that says so.
type Needs = BTreeMap<String, BTreeMap<String, String>>;

/// Neither the crates nor the top modules of a crate need each other in a circle.
pub fn no_cycles(root: &Path) -> Outcome {
    match faults(root) {
        Ok(faults) if faults.is_empty() => Outcome::Passed,
        Ok(faults) => Outcome::Failed(faults.join("\n")),
        Err(why) => Outcome::Failed(why),
    }
}

fn faults(root: &Path) -> Result<Vec<String>, String> {
    let read = |path: &Path| std::fs::read_to_string(root.join(path)).ok();
    let mut crates = Vec::new();
    let entries = std::fs::read_dir(root.join("crates")).map_err(|error| format!("crates cannot be read: {error}"))?;
    for entry in entries {
        crates.push(Path::new("crates").join(entry.map_err(|error| error.to_string())?.file_name()));
    }
    crates.sort();
    let manifests: Vec<(PathBuf, String)> = crates
        .iter()
        .filter_map(|directory| {
            let path = directory.join("Cargo.toml");
            read(&path).map(|text| (path, text))
        })
        .collect();
    let mut faults = told("the crates", &crate_needs(&manifests));
    for directory in crates.iter().map(PathBuf::as_path).chain(["bench", "fuzz", "xtask"].map(Path::new)) {
        for start in ["src/lib.rs", "src/main.rs"].map(|file| directory.join(file)) {
            if root.join(&start).exists() {
                let name = directory.file_name().unwrap_or_default().to_string_lossy();
                faults.extend(module_needs(&start, &read).map_or_else(|why| vec![why], |needs| told(&name, &needs)));
            }
        }
    }
    Ok(faults)
}

/// The cycles in words: what needs each other, and the shortest way round with the places that make it.
fn told(whose: &str, needs: &Needs) -> Vec<String> {
    let words = |(parts, way): &(Vec<&str>, Vec<&str>)| {
        let edges =
            way.windows(2).map(|pair| format!("\n    {} needs {}: {}", pair[0], pair[1], needs[pair[0]][pair[1]]));
        format!("{whose}: {} need each other in a circle{}", parts.join(", "), edges.collect::<String>())
    };
    cycles(needs).iter().map(words).collect()
}

/// The strongly connected parts, each with its shortest cycle, whose last part is its first again.
fn cycles(needs: &Needs) -> Vec<(Vec<&str>, Vec<&str>)> {
    let mut found: Vec<(Vec<&str>, Vec<&str>)> = Vec::new();
    for start in needs.keys().map(String::as_str) {
        if way(needs, start, start).is_none() || found.iter().any(|(parts, _)| parts.contains(&start)) {
            continue;
        }
        let mutual = |other: &&str| way(needs, start, other).is_some() && way(needs, other, start).is_some();
        let parts: Vec<&str> = needs.keys().map(String::as_str).filter(mutual).collect();
        let ways = parts.iter().filter_map(|part| way(needs, part, part));
        let shortest = ways.min_by_key(Vec::len).unwrap_or_default();
        found.push((parts, shortest));
    }
    found
}

/// The shortest way of at least one step.
fn way<'a>(needs: &'a Needs, from: &'a str, to: &str) -> Option<Vec<&'a str>> {
    let mut ways = VecDeque::from([vec![from]]);
    let mut seen = BTreeSet::new();
    while let Some(way) = ways.pop_front() {
        let nexts = way.last().and_then(|last| needs.get(*last)).into_iter().flat_map(BTreeMap::keys);
        for next in nexts.map(String::as_str) {
            let longer = || way.iter().copied().chain([next]).collect();
            if next == to {
                return Some(longer());
            }
            if seen.insert(next) {
                ways.push_back(longer());
            }
        }
    }
    None
}

/// What the crates of these manifests need of each other.
fn crate_needs(manifests: &[(PathBuf, String)]) -> Needs {
    let manifests: Vec<(&Path, Manifest<'_>)> =
        manifests.iter().map(|(path, text)| (path.as_path(), manifest(text))).collect();
    let names: BTreeSet<&str> = manifests.iter().map(|(_, manifest)| manifest.name).collect();
    let mut needs = Needs::new();
    for (path, manifest) in &manifests {
        let needed = manifest.dependencies.iter().filter(|(name, _)| names.contains(name));
        let places = needed.map(|(name, line)| ((*name).to_owned(), format!("{}:{line}", path.display())));
        needs.insert(manifest.name.to_owned(), places.collect());
    }
    needs
}

/// What counts of a manifest.
struct Manifest<'a> {
    name: &'a str,
    /// With their lines.
    dependencies: Vec<(&'a str, usize)>,
}

/// Reads what cargo would refuse to build in a circle; tests may need what is above them.
fn manifest(text: &str) -> Manifest<'_> {
    let is_needed = |section: &str| {
        let last = section.rsplit('.').next().unwrap_or(section);
        matches!(last, "dependencies" | "build-dependencies")
    };
    let mut read = Manifest { name: "", dependencies: Vec::new() };
    let mut section = "";
    for (index, line) in text.lines().enumerate() {
        let line = line.trim();
        if let Some(header) = line.strip_prefix('[') {
            section = header.split(']').next().unwrap_or(header).trim();
            if let Some((above, name)) = section.rsplit_once('.')
                && is_needed(above)
            {
                read.dependencies.push((name, index + 1));
            }
            continue;
        }
        let Some((key, value)) = line.split_once('=').filter(|_| !line.starts_with('#')) else { continue };
        let name = key.split('.').next().unwrap_or(key).trim().trim_matches('"');
        if section == "package" && name == "name" {
            read.name = value.trim().trim_matches('"');
        } else if is_needed(section) {
            read.dependencies.push((name, index + 1));
        }
    }
    read
}

/// A file of a crate: a module that is declared by `mod name;`, or the crate's root.
struct File {
    path: PathBuf,
    /// From the root; of the root itself, nothing.
    module: Vec<String>,
    /// Where the modules lie that it declares.
    below: PathBuf,
}

/// What the top modules of a crate need of each other, from its root file on. Modules that are compiled for tests alone are
/// not looked at.
fn module_needs(start: &Path, read: &dyn Fn(&Path) -> Option<String>) -> Result<Needs, String> {
    let below = start.parent().unwrap_or(start).to_owned();
    let mut files = vec![File { path: start.to_owned(), module: Vec::new(), below }];
    let mut uses = Vec::new();
    let mut owners = BTreeMap::new();
    let mut tops = BTreeSet::new();
    while let Some(file) = files.pop() {
        let text = read(&file.path).ok_or_else(|| format!("{} cannot be read", file.path.display()))?;
        let tokens = without_tests(&tokens(&text));
        let scan = scan(&tokens, &file.module);
        if file.module.is_empty() {
            let modules = scan.declared.iter().chain(&scan.inline);
            tops.extend(modules.filter(|module| module.len() == 1).map(|module| module[0].clone()));
            for (name, line, top) in taken_by_root(&tokens, &tops) {
                if name == "*" {
                    let place = format!("{}:{line}", file.path.display());
                    return Err(format!("{place}: a star on module {top} hides what others need of it; name it"));
                }
                owners.insert(name, top);
            }
        }
        owners.extend(scan.macros);
        uses.extend(scan.uses.into_iter().map(|used| (format!("{}:{}", file.path.display(), used.line), used)));
        for module in scan.declared {
            let inside = &module[file.module.len()..];
            let below = file.below.join(inside.iter().collect::<PathBuf>());
            let candidates = [below.with_extension("rs"), below.join("mod.rs")];
            let Some(path) = candidates.into_iter().find(|path| read(path).is_some()) else {
                return Err(format!("{}: the file of module {} is not found", file.path.display(), module.join("::")));
            };
            files.push(File { path, module, below });
        }
    }
    let mut needs: Needs = tops.iter().map(|top| (top.clone(), BTreeMap::new())).collect();
    for (place, used) in uses {
        if used.name == "*" {
            return Err(format!("{place}: a star on the crate's root hides what is needed; name it"));
        }
        let needed = if tops.contains(&used.name) { Some(&used.name) } else { owners.get(&used.name) };
        if let Some(needed) = needed.filter(|needed| **needed != used.by) {
            needs.entry(used.by).or_default().entry(needed.clone()).or_insert(place);
        }
    }
    Ok(needs)
}

/// What a file says of modules.
#[derive(Default)]
struct Scan {
    /// Modules in files of their own, from the crate's root on.
    declared: Vec<Vec<String>>,
    /// Modules in this file.
    inline: Vec<Vec<String>>,
    uses: Vec<Use>,
    /// Macros that are exported, which puts them into the crate's root, and the top modules that they are of.
    macros: Vec<(String, String)>,
}

/// A name of the crate's root that a top module uses.
struct Use {
    by: String,
    name: String,
    line: usize,
}

/// Looks through a file of the given module.
fn scan(tokens: &[Token<'_>], module: &[String]) -> Scan {
    let mut scan = Scan::default();
    let mut module = module.to_vec();
    // How deep in braces the modules in this file are that we stand in.
    let mut opened = Vec::new();
    let mut depth = 0;
    let text = |at: usize| tokens.get(at).map_or("", |token| token.text);
    let mut at = 0;
    while at < tokens.len() {
        match (text(at), text(at + 1), text(at + 2)) {
            ("mod", name, end @ (";" | "{")) => {
                module.push(name.to_owned());
                if end == "{" {
                    scan.inline.push(module.clone());
                    opened.push(depth);
                    depth += 1;
                } else {
                    scan.declared.push(module.clone());
                    module.pop();
                }
                at += 3;
                continue;
            }
            ("macro_rules", "!", name) if at > 1 && text(at - 2) == "macro_export" => {
                scan.macros.extend(module.first().map(|top| (name.to_owned(), top.clone())));
            }
            ("{", ..) => depth += 1,
            ("}", ..) => {
                depth -= 1;
                if opened.last() == Some(&depth) {
                    opened.pop();
                    module.pop();
                }
            }
            ("crate" | "super", "::", _) => {
                let mut paths = Vec::new();
                at = read_paths(tokens, at, &[], &mut paths);
                let names = paths.iter().filter_map(|path| name_in_root(&path.words, module.len()));
                let uses = names.filter_map(|name| {
                    Some(Use { by: module.first()?.clone(), name: name.text.to_owned(), line: name.line })
                });
                scan.uses.extend(uses);
                continue;
            }
            _ => {}
        }
        at += 1;
    }
    scan
}

/// A path in the source, and the name that `as` gives it.
struct Written<'a> {
    words: Vec<Token<'a>>,
    renamed: Option<&'a str>,
}

/// Reads the path that begins at `at`, or the tree of paths; returns where it ends.
fn read_paths<'a>(tokens: &[Token<'a>], mut at: usize, above: &[Token<'a>], paths: &mut Vec<Written<'a>>) -> usize {
    let text = |at: usize| tokens.get(at).map_or("", |token| token.text);
    let mut words = above.to_vec();
    loop {
        match text(at) {
            "{" => {
                at += 1;
                while !matches!(text(at), "}" | "") {
                    // What cannot be read as a path is passed, so that this ends.
                    at = read_paths(tokens, at, &words, paths).max(at + 1);
                    if text(at) == "," {
                        at += 1;
                    }
                }
                return at + 1;
            }
            "*" => words.push(tokens[at]),
            _ if tokens.get(at).is_some_and(Token::is_name) => {
                words.push(tokens[at]);
                if text(at + 1) == "::" {
                    at += 2;
                    continue;
                }
            }
            // As in `crate::f::<T>`.
            _ => {
                paths.push(Written { words, renamed: None });
                return at;
            }
        }
        let renamed = (text(at + 1) == "as").then(|| text(at + 2));
        paths.push(Written { words, renamed });
        return if renamed.is_some() { at + 3 } else { at + 1 };
    }
}

/// The name in the crate's root that a path goes through, written in a module so many levels below it.
fn name_in_root<'a>(words: &[Token<'a>], levels: usize) -> Option<Token<'a>> {
    let ups = words.iter().take_while(|word| word.text == "super").count();
    let first = if words.first()?.text == "crate" { 1 } else { ups };
    // The root's own names stand in no module that could be needed.
    (levels > 0 && (first > ups || ups == levels)).then(|| words.get(first).copied()).flatten()
}

/// The names that the root takes from its modules with `use`, each with its line and its module.
fn taken_by_root(tokens: &[Token<'_>], tops: &BTreeSet<String>) -> Vec<(String, usize, String)> {
    let mut depth = 0;
    let mut paths = Vec::new();
    for (at, token) in tokens.iter().enumerate() {
        match token.text {
            "{" => depth += 1,
            "}" => depth -= 1,
            "use" if depth == 0 => {
                read_paths(tokens, at + 1, &[], &mut paths);
            }
            _ => {}
        }
    }
    let mut taken = Vec::new();
    for path in &paths {
        // `self` at the end of a path is what stands before it.
        let words: Vec<&Token<'_>> = path.words.iter().filter(|word| !matches!(word.text, "crate" | "self")).collect();
        if let [top, .., last] | [top @ last] = words.as_slice()
            && tops.contains(top.text)
        {
            taken.push((path.renamed.unwrap_or(last.text).to_owned(), last.line, top.text.to_owned()));
        }
    }
    taken
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What needs what in a crate of these files, as `a>b place`.
    fn needs_of(files: &[(&str, &str)]) -> Result<Vec<String>, String> {
        let read = |path: &Path| {
            let file = files.iter().find(|(name, _)| Path::new(name) == path);
            file.map(|(_, text)| (*text).to_owned())
        };
        let needs = module_needs(Path::new(files[0].0), &read)?;
        let edges = needs
            .iter()
            .flat_map(|(by, needed)| needed.iter().map(move |(name, place)| format!("{by}>{name} {place}")));
        Ok(edges.collect())
    }

    /// The same for modules a, b and c of which a says something.
    fn a_says(text: &str) -> Vec<String> {
        let root = "mod a; pub mod b; pub(crate) mod c; pub use b::{Bee, deep::{Other as Renamed, self}}; use c::see;\
                    pub use elsewhere::Foreign;";
        needs_of(&[("lib.rs", root), ("a.rs", text), ("b.rs", ""), ("c.rs", "")]).unwrap()
    }

    #[test]
    fn paths_from_the_root_are_needs() {
        assert_eq!(a_says("use crate::b::X;\nfn f() { crate::c::f::<u8>() }"), ["a>b a.rs:1", "a>c a.rs:2"]);
        assert_eq!(a_says("type X = <crate::b::X as Y>::Z;"), ["a>b a.rs:1"]);
        assert_eq!(a_says("use crate::b;"), ["a>b a.rs:1"]);
    }

    #[test]
    fn groups_are_needs_however_they_nest() {
        assert_eq!(a_says("use crate::{\n  b::{X, d::{Y, Z}},\n  c as d,\n};"), ["a>b a.rs:2", "a>c a.rs:3"]);
        assert_eq!(a_says("use {crate::b::X, std::{c::Y}};"), ["a>b a.rs:1"]);
        assert_eq!(a_says("use crate::{d::{b, c}, self};"), [""; 0]);
    }

    #[test]
    fn names_that_the_root_takes_from_a_module_are_needs_of_it() {
        assert_eq!(a_says("use crate::Bee;"), ["a>b a.rs:1"]);
        assert_eq!(a_says("use crate::Renamed;"), ["a>b a.rs:1"]);
        assert_eq!(a_says("use crate::deep::X;"), ["a>b a.rs:1"]);
        assert_eq!(a_says("use super::see;"), ["a>c a.rs:1"]);
        assert_eq!(a_says("use crate::{Other, Foreign, Unknown};"), [""; 0]);
    }

    #[test]
    fn paths_from_elsewhere_and_to_itself_are_no_needs() {
        assert_eq!(a_says("use b::X; use self::c::Y; use elsewhere::crate_::b; use crate::a::X;"), [""; 0]);
        assert_eq!(a_says("pub(crate) fn b() {} pub(super) fn c() {}"), [""; 0]);
    }

    #[test]
    fn comments_strings_and_tests_are_no_needs() {
        assert_eq!(a_says("//! crate::b\n/// crate::b\n/* crate::b */ const X: &str = \"crate::b\";"), [""; 0]);
        assert_eq!(a_says("#[cfg(test)] mod tests { use crate::b; } #[cfg(test)] use crate::c;"), [""; 0]);
    }

    #[test]
    fn files_of_tests_are_not_read() {
        let files = [
            ("lib.rs", "mod a; mod b; #[cfg(test)] mod helpers;"),
            ("a.rs", "#[cfg(test)] mod tests;"),
            ("a/tests.rs", "use crate::b; mod more;"),
            ("b.rs", ""),
            ("helpers.rs", "use crate::b;"),
        ];
        assert_eq!(needs_of(&files).unwrap(), [""; 0]);
    }

    #[test]
    fn as_many_supers_as_levels_lead_to_the_root() {
        let files = [
            ("lib.rs", "mod a; mod b; mod c; mod d;"),
            ("a/mod.rs", "mod inner;\nuse super::b;\nmod here { use super::c; use super::super::c; }"),
            ("a/inner.rs", "use super::b; mod deep;"),
            ("a/inner/deep.rs", "use super::super::c;\nuse super::super::super::{d::X, b};"),
            ("b.rs", ""),
            ("c.rs", ""),
            ("d.rs", "mod e { use super::{super::b}; }"),
        ];
        let needs = ["a>b a/mod.rs:2", "a>c a/mod.rs:3", "a>d a/inner/deep.rs:2", "d>b d.rs:1"];
        assert_eq!(needs_of(&files).unwrap(), needs);
    }

    #[test]
    fn modules_written_in_the_root_are_modules_too() {
        let root = "mod a; mod b { pub use crate::a::*; mod inner; } fn f() { crate::b::g() }";
        let files = [("main.rs", root), ("a.rs", "use crate::b;"), ("b/inner.rs", "use super::super::a;")];
        assert_eq!(needs_of(&files).unwrap(), ["a>b a.rs:1", "b>a main.rs:1"]);
    }

    #[test]
    fn exported_macros_are_of_the_module_that_has_them() {
        let files = [
            ("lib.rs", "mod a; mod b;"),
            ("a.rs", "fn f() { crate::told!() }"),
            ("b.rs", "#[macro_export]\nmacro_rules! told { () => { $crate::a::g() } }"),
        ];
        assert_eq!(needs_of(&files).unwrap(), ["a>b a.rs:1", "b>a b.rs:2"]);
    }

    #[test]
    fn stars_that_hide_needs_are_refused() {
        let below = needs_of(&[("lib.rs", "mod a;"), ("a.rs", "\nuse crate::*;")]).unwrap_err();
        assert!(below.starts_with("a.rs:2: a star on the crate's root"), "{below}");
        let root = needs_of(&[("lib.rs", "mod a; pub use a::*;"), ("a.rs", "")]).unwrap_err();
        assert!(root.starts_with("lib.rs:1: a star on module a"), "{root}");
        assert!(needs_of(&[("lib.rs", "mod a; pub use other::*;"), ("a.rs", "mod b { use super::*; }")]).is_ok());
    }

    #[test]
    fn a_module_without_its_file_is_told() {
        assert_eq!(needs_of(&[("lib.rs", "mod a;")]).unwrap_err(), "lib.rs: the file of module a is not found");
    }

    fn needs(edges: &[(&str, &str)]) -> Needs {
        let mut needs = Needs::new();
        for (by, needed) in edges {
            needs.entry((*by).into()).or_default().insert((*needed).into(), format!("{by}.rs:1"));
        }
        needs
    }

    #[test]
    fn layers_have_no_cycles() {
        assert_eq!(told("x", &needs(&[("a", "b"), ("a", "c"), ("b", "c"), ("d", "a")])), [""; 0]);
    }

    #[test]
    fn a_cycle_is_told_with_its_shortest_way_round() {
        let edges = [("top", "a"), ("a", "b"), ("b", "c"), ("c", "a"), ("c", "b"), ("c", "low")];
        let expected = "x: a, b, c need each other in a circle\n    b needs c: b.rs:1\n    c needs b: c.rs:1";
        assert_eq!(told("x", &needs(&edges)), [expected]);
    }

    #[test]
    fn cycles_apart_are_told_apart() {
        let edges = [("a", "b"), ("b", "a"), ("b", "c"), ("c", "d"), ("d", "c")];
        assert_eq!(
            cycles(&needs(&edges)),
            [(vec!["a", "b"], vec!["a", "b", "a"]), (vec!["c", "d"], vec!["c", "d", "c"])]
        );
    }

    #[test]
    fn crates_need_what_they_depend_on_and_not_what_their_tests_do() {
        let first = "[package]\nname = \"x-a\"\n[dependencies]\n# x-c = 1\nx-b.workspace = true\nserde = \"1\"\n\
                     [dev-dependencies]\nx-c.workspace = true\n[features]\nx-d = []\n";
        let second =
            "[package]\nname = \"x-b\"\n[target.'cfg(unix)'.dependencies]\nx-c = { path = \"c\", optional = true }\n";
        let third = "[package]\nname = \"x-c\"\n[dependencies.x-a]\nworkspace = true\n";
        let fourth = "[package]\nname = \"x-d\"\n";
        let manifests =
            [("a", first), ("b", second), ("c", third), ("d", fourth)].map(|(path, text)| (path.into(), text.into()));
        let expected = "the crates: x-a, x-b, x-c need each other in a circle\n    x-a needs x-b: a:5\n    \
                        x-b needs x-c: b:4\n    x-c needs x-a: c:3";
        assert_eq!(told("the crates", &crate_needs(&manifests)), [expected]);
    }
}
