//! A short part of the attack, and the corpus of what ever broke.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use fpsrl_fuzz::attack::batch::{Batch, memory_of};
use fpsrl_fuzz::attack::{self, memory};
use fpsrl_fuzz::judge::{Seen, judge, keep_panics};
use fpsrl_fuzz::mutate::{Known, input};
use fpsrl_fuzz::place::{Place, make_originals};
use fpsrl_fuzz::targets::{TARGETS, find};
use tempfile::TempDir;

/// A place of a test's own, above run directories that all share.
fn place() -> (TempDir, Place) {
    static ORIGINALS: OnceLock<TempDir> = OnceLock::new();
    let originals = ORIGINALS.get_or_init(|| {
        let directory = tempfile::tempdir().unwrap();
        make_originals(&directory.path().join("originals")).unwrap();
        directory
    });
    let own = tempfile::tempdir().unwrap();
    let place = Place::new(own.path(), &originals.path().join("originals"));
    (own, place)
}

#[test]
fn nothing_of_a_short_attack_breaks_anything() {
    keep_panics();
    for (index, target) in TARGETS.iter().enumerate() {
        let (_own, mut place) = place();
        let known = attack::known(target, &mut place, Path::new("no such directory")).unwrap();
        let batch = Batch {
            target: (index as u16, target),
            seed: 11,
            from: 0,
            count: target.short,
            until: Instant::now() + Duration::from_secs(3_600),
            found: None,
            old: BTreeSet::new(),
        };
        let counts = batch.run(&known, &mut place).unwrap();
        // Time is the machine's as well; the attack itself looks at it.
        let broken: Vec<_> = counts.broken.iter().filter(|(_, what)| !what.starts_with("time:")).collect();
        assert!(broken.is_empty(), "{}: {broken:?}", target.name);
        assert_eq!(counts.inputs, u64::from(target.short), "{}", target.name);
    }
}

#[test]
fn an_attack_begins_with_every_file_of_a_run() {
    let (_own, mut place) = place();
    let (_, run) = find("run").unwrap();
    let names: BTreeSet<String> = (run.seeds)(&mut place).unwrap().into_iter().map(|input| input.name).collect();
    for name in [
        "finished/problem.toml",
        "finished/transitions.csv",
        "finished/world.json",
        "finished/policy.json",
        "finished/search.csv",
        "finished/front/front.json",
        "finished/nfq.json",
        "finished/summary.json",
        "plant/starts.csv",
        "plant/data.json",
        "plant/pi.json",
        "plant/trade.json",
        "stopped/checkpoint.json",
        "stopped/checkpoint.csv",
        "grown/growth.json",
    ] {
        assert!(names.contains(name), "{name} is not among {names:?}");
    }
    assert!(names.iter().any(|name| name.ends_with("planned.json")), "{names:?}");
}

#[test]
fn every_valid_file_is_taken() {
    keep_panics();
    let mut refused = Vec::new();
    for target in &TARGETS {
        let (_own, mut place) = place();
        for input in (target.seeds)(&mut place).unwrap() {
            let seen = judge(target, &input, &mut place);
            // A log that is no time series leaves its draft open; what a simulator says ends at some time.
            let open = match &seen {
                Seen::Refused(why) => {
                    target.name == "draft" || target.name == "process" && why.contains("ended instead of answering")
                }
                _ => false,
            };
            if seen != Seen::Taken && !open {
                refused.push(format!("{} {}: {seen:?}", target.name, input.name));
            }
        }
    }
    assert!(refused.is_empty(), "{refused:#?}");
}

#[test]
fn the_corpus_of_what_ever_broke_breaks_nothing() {
    keep_panics();
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus");
    let mut tried = 0;
    for directory in attack::sorted(&corpus).unwrap() {
        let name = directory.file_name().unwrap().to_string_lossy().into_owned();
        let (_, target) = find(&name).unwrap_or_else(|| panic!("{name} is no target"));
        let (_own, mut place) = place();
        (target.seeds)(&mut place).unwrap();
        for case in attack::sorted(&directory).unwrap() {
            let what = case.file_name().unwrap().to_string_lossy().into_owned();
            // Each is a file in a directory of its own, whose name says what it did.
            for (name, bytes) in fpsrl_fuzz::seeds::runs::read(&case).unwrap() {
                let input = fpsrl_fuzz::input::Input { name, bytes };
                let mut seen = Seen::Taken;
                let added = memory_of(|| seen = judge(target, &input, &mut place));
                assert!(!matches!(seen, Seen::Broken(_)), "{}: {seen:?}", case.display());
                let allowed = memory::ALLOWED + memory::FACTOR * input.bytes.len() as u64;
                assert!(added <= allowed, "{}: {added} bytes", case.display());
                if what.starts_with("refused-") {
                    assert!(matches!(seen, Seen::Refused(_)), "{}: {seen:?}", case.display());
                }
                tried += 1;
            }
        }
    }
    assert!(tried > 0);
}

#[test]
fn at_least_half_of_the_changed_documents_are_documents() {
    for name in ["problem", "sweep", "controller", "files"] {
        let (index, target) = find(name).unwrap();
        let (_own, mut place) = place();
        let known: Vec<Known> = (target.seeds)(&mut place).unwrap().into_iter().map(Known::new).collect();
        let made: Vec<_> = (0..600).map(|counter| input(&known, 3, index, counter, u16::MAX)).collect();
        let documents = made.iter().filter(|input| input.is_document()).count();
        assert!(documents >= 300, "{name}: {documents} of 600");
        let same = made.iter().filter(|input| known.iter().any(|known| known.input == **input)).count();
        assert!(same < 60, "{name}: {same} of 600 have not changed");
    }
}
