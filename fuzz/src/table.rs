//! What came of an attack, as a table.

use std::fmt::Write as _;

use crate::attack::batch::Counts;
use crate::targets::Target;

/// The marks between which `docs/reliability.md` has the table.
pub const MARKS: [&str; 2] = ["<!-- cargo xtask fuzz --record: begin -->", "<!-- cargo xtask fuzz --record: end -->"];

/// The table in Markdown.
pub fn table(all: &[(&'static Target, Counts)], seed: u64) -> String {
    let mut text = String::from(
        "| target | what is read | inputs | documents | taken | messages | longest | memory | broken |\n\
         |---|---|---:|---:|---:|---:|---:|---:|---:|\n",
    );
    let mut sum = Counts::default();
    for (target, counts) in all {
        line(&mut text, &format!("`{}` | {}", target.name, target.reads), counts);
        sum.add(Counts { kinds: Default::default(), ..counts.clone() });
    }
    let messages: usize = all.iter().map(|(_, counts)| counts.kinds.len()).sum();
    let _ = writeln!(
        text,
        "| | **all** | **{}** | | | {messages} | {} | {} | **{}** |\n\n\
         Seed {seed}, {} inputs a second in one process. *Documents*: changed inputs that are still documents of their format \
         (TOML, JSON; text always is). *Taken*: what the reader accepted. *Messages*: different ones, without names and \
         numbers. *Longest*: the most time that one input took. *Memory*: the most that 64 inputs added to the process.",
        grouped(sum.inputs),
        time(sum.longest),
        megabytes(sum.memory),
        sum.broken.len(),
        grouped((sum.inputs as f64 / sum.seconds.max(1e-9)) as u64),
    );
    text
}

fn line(text: &mut String, what: &str, counts: &Counts) {
    let share = |part: u64, of: u64| format!("{:.0} %", 100.0 * part as f64 / (of.max(1)) as f64);
    let _ = writeln!(
        text,
        "| {what} | {} | {} | {} | {} | {} | {} | {} |",
        grouped(counts.inputs),
        share(counts.documents, counts.sampled),
        share(counts.taken, counts.inputs),
        counts.kinds.len(),
        time(counts.longest),
        megabytes(counts.memory),
        counts.broken.len(),
    );
}

fn time(seconds: f64) -> String {
    if seconds < 1.0 { format!("{:.0} ms", 1_000.0 * seconds) } else { format!("{seconds:.1} s") }
}

fn megabytes(bytes: u64) -> String {
    format!("{} MB", bytes.div_ceil(1_000_000))
}

fn grouped(number: u64) -> String {
    fpsrl::text::count(number as usize)
}

/// A document with the table between its marks; none if it has no marks.
///
/// ```
/// use fpsrl_fuzz::table::{MARKS, recorded};
/// let document = format!("before\n{}\nold\n{}\nafter\n", MARKS[0], MARKS[1]);
/// let new = recorded(&document, "new").unwrap();
/// assert_eq!(new, format!("before\n{}\nnew\n{}\nafter\n", MARKS[0], MARKS[1]));
/// assert_eq!(recorded("no marks", "new"), None);
/// ```
pub fn recorded(document: &str, table: &str) -> Option<String> {
    let (before, rest) = document.split_once(MARKS[0])?;
    let (_, after) = rest.split_once(MARKS[1])?;
    Some(format!("{before}{}\n{}\n{}{after}", MARKS[0], table.trim_end(), MARKS[1]))
}
