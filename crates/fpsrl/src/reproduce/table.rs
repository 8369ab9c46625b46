//! The tables as text: for a terminal and in Markdown.

use std::fmt::Write;

use super::{Cell, Figures, Reproduction, Scale, Settings, VariableErrors};
use crate::text::count;
use crate::world::quality::Word;

/// A row of the policies' table: its name, and the figure that it shows.
type Row = (&'static str, fn(&Figures) -> f64);

/// A table with a title; the first row is its header.
struct Table {
    title: String,
    rows: Vec<Vec<String>>,
    notes: Vec<String>,
}

impl Reproduction {
    /// The tables for a terminal. The better figure of a pair carries a star.
    pub fn text(&self) -> String {
        let mut text = String::new();
        for table in self.tables() {
            let _ = writeln!(text, "{}\n", table.title);
            let columns = table.rows.first().map_or(0, Vec::len);
            let width = |column: usize| table.rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
            let widths: Vec<usize> = (0..columns).map(width).collect();
            for row in &table.rows {
                let cells = row.iter().zip(&widths).enumerate().map(|(column, (cell, &width))| match column {
                    0 | 1 => format!("{cell:<width$}"),
                    _ => format!("{cell:>width$}"),
                });
                let _ = writeln!(text, "  {}", cells.collect::<Vec<_>>().join("  ").trim_end());
            }
            for note in &table.notes {
                let _ = writeln!(text, "  {note}");
            }
            text.push('\n');
        }
        text
    }

    /// The tables in Markdown.
    pub fn markdown(&self) -> String {
        let mut text = format!("# {}\n\n", self.settings.benchmark);
        for table in self.tables() {
            let _ = writeln!(text, "## {}\n", table.title);
            for (index, row) in table.rows.iter().enumerate() {
                let cells: Vec<String> = row.iter().map(|cell| bold(cell)).collect();
                let _ = writeln!(text, "| {} |", cells.join(" | "));
                if index == 0 {
                    let rule: Vec<&str> =
                        (0..row.len()).map(|column| if column < 2 { "---" } else { "---:" }).collect();
                    let _ = writeln!(text, "|{}|", rule.join("|"));
                }
            }
            text.push('\n');
            for note in &table.notes {
                let _ = writeln!(text, "{note}\n");
            }
        }
        text
    }

    fn tables(&self) -> Vec<Table> {
        let trusted = self.cells.iter().any(|cell| !cell.trusted.is_empty()).then(|| self.trusted_runs());
        // Who asks for no trainings of the paper's kind needs no table of them.
        let policies = (self.settings.runs > 0).then(|| self.policies());
        [self.errors()].into_iter().chain(policies).chain(trusted).collect()
    }

    /// Runs with the command's defaults, each on a log of its own.
    fn trusted_runs(&self) -> Table {
        let header = [
            "samples",
            "logs",
            "mean",
            "best",
            "worst",
            "std",
            "paper: FPSRL",
            "its selected",
            "paper: NFQ",
            "promise kept",
            "verdicts",
        ];
        let mut rows = vec![header.map(str::to_owned).to_vec()];
        for cell in self.cells.iter().filter(|cell| !cell.trusted.is_empty()) {
            let logs = cell.trusted.len() as f64;
            let returns = || cell.trusted.iter().map(|run| run.true_return);
            let mean = returns().sum::<f64>() / logs;
            let deviation = (returns().map(|value| (value - mean).powi(2)).sum::<f64>() / (logs - 1.0).max(1.0)).sqrt();
            let theirs = |of: fn(&super::paper::PaperCell) -> f64| self.paper(cell.samples).map_or(f64::NAN, of);
            let (fpsrl, nfq) = (theirs(|paper| paper.fpsrl[1]), theirs(|paper| paper.nfq[1]));
            let plain = |value: f64| if value.is_nan() { "-".to_owned() } else { format!("{value:.2}") };
            let star = |value: f64, others: &[f64]| {
                let best = others.iter().all(|other| other.is_nan() || value >= *other);
                format!("{}{}", plain(value), if best { "*" } else { "" })
            };
            let word = |word: Word| cell.trusted.iter().filter(|run| run.verdict == word).count();
            let words = [Word::Go, Word::Careful, Word::NoGo].map(|kind| (kind, word(kind)));
            let words = words.iter().filter(|(_, logs)| *logs > 0).map(|(word, logs)| format!("{logs} {word}"));
            rows.push(vec![
                count(cell.samples),
                cell.trusted.len().to_string(),
                star(mean, &[fpsrl, nfq]),
                plain(returns().fold(f64::NEG_INFINITY, f64::max)),
                plain(returns().fold(f64::INFINITY, f64::min)),
                plain(deviation),
                star(fpsrl, &[mean, nfq]),
                plain(theirs(|paper| paper.fpsrl[0])),
                star(nfq, &[mean, fpsrl]),
                format!("{} of {}", cell.trusted.iter().filter(|run| run.kept).count(), cell.trusted.len()),
                words.collect::<Vec<_>>().join(", "),
            ]);
        }
        let note = "Each log is drawn anew and goes through `fpsrl run` with its defaults; the paper's figures are its means, and \
             the one that its world model selected.";
        Table { title: "Trusted FPSRL: returns on the true plant".into(), rows, notes: vec![note.into()] }
    }

    fn errors(&self) -> Table {
        let header = ["samples", "variable", "1 layer", "paper", "2 layers", "paper", "3 layers", "paper"];
        let mut rows = vec![header.map(str::to_owned).to_vec()];
        let (mut reached, mut all) = (0, 0);
        for cell in &self.cells {
            for VariableErrors { name, errors, paper } in &cell.errors {
                let mut row = vec![count(cell.samples), name.clone()];
                for (ours, theirs) in errors.iter().zip(paper) {
                    row.extend(pair(*ours, *theirs, |ours, theirs| ours <= theirs, scientific));
                }
                rows.push(row);
                let best = |errors: &[f64; 3]| errors.iter().copied().fold(f64::NAN, f64::min);
                all += usize::from(best(paper).is_finite());
                reached += usize::from(best(errors) <= best(paper));
            }
        }
        Table {
            title: "Generalisation errors of the networks (mean squared error over variance)".into(),
            rows,
            notes: vec![format!("At or below the paper's best of the three: {reached} of {all} quantities.")],
        }
    }

    fn policies(&self) -> Table {
        let header = ["samples", "", "FPSRL", "paper", "NFQ", "paper"];
        let mut rows = vec![header.map(str::to_owned).to_vec()];
        let mut notes = vec![self.note()];
        for cell in &self.cells {
            let paper = self.paper(cell.samples);
            let own = [Figures::of(&cell.fpsrl), Figures::of(&cell.nfq)];
            let theirs = [paper.map(|paper| paper.fpsrl), paper.map(|paper| paper.nfq)];
            let figures: [Row; 3] =
                [("selected", |own| own.selected), ("mean", |own| own.mean), ("std", |own| own.deviation)];
            for (index, (name, figure)) in figures.into_iter().enumerate() {
                let mut row = vec![count(cell.samples), name.to_owned()];
                for (own, theirs) in own.iter().zip(theirs) {
                    let ours = own.as_ref().map_or(f64::NAN, figure);
                    let theirs = theirs.map_or(f64::NAN, |theirs| theirs[index]);
                    // A spread is neither good nor bad by itself.
                    let better = |ours: f64, theirs: f64| index < 2 && ours >= theirs;
                    let [ours_text, theirs_text] = pair(ours, theirs, better, |value| format!("{value:.2}"));
                    let plain = |text: String| if index == 2 { text.replace('*', "") } else { text };
                    row.extend([plain(ours_text), plain(theirs_text)]);
                }
                rows.push(row);
            }
            notes.extend(self.less(cell));
            if let Some(ceiling) = &cell.ceiling {
                notes.push(format!(
                    "{} samples: on the world model, from {} test states, plans of PSO-P earn {:.2} ({:.2} without the \
                     policy's help), the policy of seed 1 earns {:.2}.",
                    count(cell.samples),
                    ceiling.start_states,
                    ceiling.ceiling,
                    ceiling.unaided,
                    ceiling.policy
                ));
            }
        }
        Table { title: "Returns on the true plant".into(), rows, notes }
    }

    /// With what the figures were made.
    fn note(&self) -> String {
        let Settings { runs, particles, iterations, start_states, .. } = &self.settings;
        let Settings { restarts, nfq_iterations, nfq_epochs, data_seed, plain, .. } = &self.settings;
        let world = if *plain { "the paper's plain world" } else { "absorbing states learned apart" };
        format!(
            "{runs} trainings (seeds 1 to {runs}); swarm of {particles} particles, {iterations} iterations, {start_states} \
             start states; NFQ of {nfq_iterations} iterations, {nfq_epochs} epochs; {restarts} starts for each network; log and \
             networks of seed {data_seed}; {world}; fpsrl {}.",
            self.version
        )
    }

    /// Where a cell was run with less than the paper.
    fn less(&self, cell: &Cell) -> Option<String> {
        let Settings { scale, benchmark, particles, iterations, nfq_iterations, .. } = &self.settings;
        let full = Settings::new(benchmark, Scale::Paper).ok()?;
        let mut less = Vec::new();
        if cell.fpsrl.len() < full.runs || *particles < full.particles || *iterations < full.iterations {
            less.push(format!("{} trainings of FPSRL", cell.fpsrl.len()));
        }
        if cell.nfq.len() < full.runs || *nfq_iterations < full.nfq_iterations {
            less.push(format!("{} trainings of NFQ with {nfq_iterations} iterations", cell.nfq.len()));
        }
        // Nothing adds up to -0.
        let hours: f64 =
            cell.fpsrl.iter().chain(&cell.nfq).map(|training| training.seconds).sum::<f64>() / 3600.0 + 0.0;
        let took = format!("{} samples: the trainings took {hours:.2} hours", count(cell.samples));
        Some(match less.is_empty() {
            true => format!("{took}."),
            false => {
                let scale = if *scale == Scale::Paper { "paper" } else { "quick" };
                format!("{took}; less than the paper's scale ({scale}): {}.", less.join(", "))
            }
        })
    }
}

/// Two figures, the better one with a star.
fn pair(ours: f64, theirs: f64, better: impl Fn(f64, f64) -> bool, show: impl Fn(f64) -> String) -> [String; 2] {
    let shown = |value: f64, star: bool| match value.is_nan() {
        true => "-".to_owned(),
        false => format!("{}{}", show(value), if star { "*" } else { "" }),
    };
    let both = !ours.is_nan() && !theirs.is_nan();
    let ours_is_better = better(ours, theirs);
    [shown(ours, both && ours_is_better), shown(theirs, both && !ours_is_better)]
}

fn bold(cell: &str) -> String {
    cell.strip_suffix('*').map_or_else(|| cell.to_owned(), |figure| format!("**{figure}**"))
}

fn scientific(value: f64) -> String {
    format!("{value:.2e}")
}

#[cfg(test)]
mod tests {
    use super::super::Training;
    use super::*;

    fn example() -> Reproduction {
        let training = |seed, model_return, true_return| Training { seed, model_return, true_return, seconds: 36.0 };
        Reproduction {
            settings: Settings::new("mountain-car", Scale::Quick).unwrap(),
            version: "0.0.0".into(),
            cells: vec![Cell {
                samples: 1_000,
                errors: vec![VariableErrors {
                    name: "position".into(),
                    errors: [5e-5, 1e-6, 2e-6],
                    paper: [4.67e-5, 3.55e-5, 3.05e-6],
                }],
                fpsrl: vec![training(1, -42.0, -42.5), training(2, -41.0, -41.5)],
                nfq: vec![],
                ceiling: None,
                trusted: Vec::new(),
            }],
        }
    }

    #[test]
    fn the_better_figure_is_marked() {
        let text = example().text();
        assert!(text.contains("5.00e-5  4.67e-5*"), "{text}");
        assert!(text.contains("1.00e-6*"), "{text}");
        assert!(text.contains("1 of 1 quantities"), "{text}");
        let markdown = example().markdown();
        // Selected by the model: seed 2.
        assert!(markdown.contains("| 1,000 | selected | **-41.50** | -41.98 | - | -43.23 |"), "{markdown}");
        assert!(markdown.contains("| 1,000 | std | 0.71 | 0.01 | - | 1.33 |"), "{markdown}");
        assert!(markdown.contains("less than the paper's scale (quick): 2 trainings of FPSRL"), "{markdown}");
    }

    #[test]
    fn runs_on_fresh_logs_show_their_worst_and_whether_promises_were_kept() {
        let run = |seed, true_return: f64, kept| super::super::TrustedRun {
            seed,
            promise: -42.0,
            interval: [-43.0, -41.0],
            true_return,
            kept,
            verdict: if kept { Word::Go } else { Word::Careful },
            seconds: 60.0,
        };
        let mut example = example();
        assert!(!example.markdown().contains("Trusted"));
        example.cells[0].trusted = vec![run(1, -41.0, true), run(2, -42.0, true), run(3, -43.6, false)];
        let markdown = example.markdown();
        let row =
            "| 1,000 | 3 | -42.20 | -41.00 | -43.60 | 1.31 | **-41.99** | -41.98 | -44.87 | 2 of 3 | 2 go, 1 careful |";
        assert!(markdown.contains(row), "{markdown}");
        example.settings.runs = 0;
        let markdown = example.markdown();
        assert!(markdown.contains(row) && !markdown.contains("| selected |"), "{markdown}");
    }
}
