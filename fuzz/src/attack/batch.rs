//! A batch of inputs in this process: what `fpsrl-fuzz batch` does, and the short part that is a test.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::Write;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use super::memory;
use crate::input::Input;
use crate::judge::{Seen, judge};
use crate::mutate::{self, Known};
use crate::place::Place;
use crate::targets::Target;

/// An input of less than a megabyte that takes longer has hung.
pub const LONGEST: Duration = Duration::from_secs(2);

/// Inputs between two looks at the memory.
const LOOK: u32 = 64;
/// Of so many inputs, one is looked at whether it is a document of its form.
const SAMPLE: u32 = 8;
/// More kinds of outcome than these are not told apart, and more inputs are not kept.
const MOST_KINDS: usize = 4_000;
const MOST_KEPT: usize = 400;
/// The largest input that is kept.
const LARGEST_KEPT: usize = 1 << 16;

/// What came of the inputs of a batch.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Counts {
    /// Inputs.
    pub inputs: u64,
    /// Those that were taken.
    pub taken: u64,
    /// Those that were looked at whether they are documents of their form, and those that are.
    pub sampled: u64,
    /// Those of them that are.
    pub documents: u64,
    /// How often each kind of message was met.
    pub kinds: BTreeMap<String, u64>,
    /// The longest that one took, in seconds.
    pub longest: f64,
    /// The most memory that was added for one, in bytes.
    pub memory: u64,
    /// Seconds of the whole batch.
    pub seconds: f64,
    /// What broke: the number of the input, and what it did.
    pub broken: Vec<(u32, String)>,
}

impl Counts {
    /// Adds those of another batch.
    pub fn add(&mut self, other: Counts) {
        self.inputs += other.inputs;
        self.taken += other.taken;
        self.sampled += other.sampled;
        self.documents += other.documents;
        for (kind, count) in other.kinds {
            if self.kinds.len() < MOST_KINDS || self.kinds.contains_key(&kind) {
                *self.kinds.entry(kind).or_default() += count;
            }
        }
        self.longest = self.longest.max(other.longest);
        self.memory = self.memory.max(other.memory);
        self.seconds += other.seconds;
        self.broken.extend(other.broken);
    }
}

/// A batch: which inputs, and where what is found goes.
pub struct Batch<'a> {
    /// The target, and its place in the list.
    pub target: (u16, &'a Target),
    /// The seed.
    pub seed: u64,
    /// The first input and how many.
    pub from: u32,
    /// How many.
    pub count: u32,
    /// When it ends in any case.
    pub until: Instant,
    /// Where the number of the input at work is written, what came of them, and inputs that did something new; none in a test.
    pub found: Option<PathBuf>,
    /// Kinds of outcome that are not new.
    pub old: BTreeSet<String>,
}

impl Batch<'_> {
    /// Runs it.
    pub fn run(mut self, known: &[Known], place: &mut Place) -> std::io::Result<Counts> {
        let began = Instant::now();
        let mut counts = Counts::default();
        let status = self.found.as_ref().map(|found| File::create(found.join("at"))).transpose()?;
        let mut written = Instant::now();
        let mut base = memory::peak();
        for number in 0..self.count {
            let counter = self.from + number;
            let now = Instant::now();
            if now > self.until {
                break;
            }
            if let Some(status) = &status {
                status.write_all_at(&counter.to_le_bytes(), 0)?;
            }
            let input = self.input(known, counter, u16::MAX);
            let seen = self.timed(&input, place, &mut counts);
            if counter.is_multiple_of(SAMPLE) {
                counts.sampled += 1;
                counts.documents += u64::from(input.is_document());
            }
            counts.inputs += 1;
            self.count_in(seen, counter, &input, &mut counts)?;
            if number % LOOK == LOOK - 1 || number == self.count - 1 {
                let added = memory::peak().saturating_sub(base);
                if added > memory::ALLOWED {
                    self.look_for_the_greedy(
                        known,
                        counter + 1 - LOOK.min(number + 1)..counter + 1,
                        place,
                        &mut counts,
                    );
                    base = memory::peak();
                } else {
                    counts.memory = counts.memory.max(added);
                }
                if written.elapsed() > Duration::from_secs(1) {
                    counts.seconds = began.elapsed().as_secs_f64();
                    self.write(&counts)?;
                    written = Instant::now();
                }
            }
        }
        counts.seconds = began.elapsed().as_secs_f64();
        self.write(&counts)?;
        Ok(counts)
    }

    fn input(&self, known: &[Known], counter: u32, mask: u16) -> Input {
        mutate::input(known, self.seed, self.target.0, counter, mask)
    }

    /// Judges an input and takes the time. One that takes long is tried again: another program may have been in the way.
    fn timed(&self, input: &Input, place: &mut Place, counts: &mut Counts) -> Seen {
        let (mut seen, mut took) = timed(self.target.1, input, place, false);
        if took > LONGEST / 8 {
            let (again, second) = timed(self.target.1, input, place, true);
            if second < took {
                (seen, took) = (again, second);
            }
        }
        counts.longest = counts.longest.max(took.as_secs_f64());
        match took > LONGEST && input.bytes.len() < 1_000_000 {
            true => Seen::Broken("time: it takes longer than 2 s".into()),
            false => seen,
        }
    }

    fn count_in(&mut self, seen: Seen, counter: u32, input: &Input, counts: &mut Counts) -> std::io::Result<()> {
        let kind = match seen {
            Seen::Taken => {
                counts.taken += 1;
                return Ok(());
            }
            Seen::Refused(kind) => kind,
            Seen::Broken(what) => {
                counts.broken.push((counter, what));
                return self.write(counts);
            }
        };
        if let Some(count) = counts.kinds.get_mut(&kind) {
            *count += 1;
        } else if counts.kinds.len() < MOST_KINDS {
            counts.kinds.insert(kind.clone(), 1);
            if self.old.len() < MOST_KEPT
                && input.bytes.len() <= LARGEST_KEPT
                && self.old.insert(kind)
                && let Some(found) = &self.found
            {
                super::keep(input, &found.join("next").join(format!("{counter:010}")))?;
            }
        }
        Ok(())
    }

    /// Each of some inputs alone, to find the one that takes too much memory.
    fn look_for_the_greedy(
        &self,
        known: &[Known],
        range: std::ops::Range<u32>,
        place: &mut Place,
        counts: &mut Counts,
    ) {
        for counter in range {
            let input = self.input(known, counter, u16::MAX);
            let added = memory_of(|| drop(judge(self.target.1, &input, place)));
            counts.memory = counts.memory.max(added);
            if added > memory::ALLOWED + memory::FACTOR * input.bytes.len() as u64 {
                counts.broken.push((counter, "memory: it takes more than 20 times its size and 200 MB".into()));
            }
        }
    }

    fn write(&self, counts: &Counts) -> std::io::Result<()> {
        let Some(found) = &self.found else { return Ok(()) };
        let mut file = File::create(found.join("counts.part"))?;
        file.write_all(&serde_json::to_vec(counts)?)?;
        std::fs::rename(found.join("counts.part"), found.join("counts.json"))
    }
}

/// The memory that some work adds to what there is, at its most.
pub fn memory_of(work: impl FnOnce()) -> u64 {
    let before = memory::now();
    memory::forget_peak();
    work();
    memory::peak().saturating_sub(before)
}

/// Judges an input and takes the time: that of the clock; of a careful look, that of the processor if it is less.
fn timed(target: &Target, input: &Input, place: &mut Place, careful: bool) -> (Seen, Duration) {
    let own = Path::new("/proc/self");
    let processor = if careful { memory::processor_seconds(own) } else { None };
    let began = Instant::now();
    let seen = judge(target, input, place);
    let took = began.elapsed();
    let spent = processor.and_then(|before| Some(memory::processor_seconds(own)? - before));
    (seen, spent.map_or(took, |spent| took.min(Duration::from_secs_f64(spent.max(0.0)))))
}
