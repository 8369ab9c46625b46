//! The sections of a problem file: inputs, states, actions, the log, the goal, the form of the rules.

use fpsrl_base::settings::{memory_written, quoted, quoted_list};
use fpsrl_data::log::{Angle, Column, Guess, InputKind, Table, TextOptions, angle};

use super::Names;
use super::choices::{Choices, Mirror, is_centred};
use super::goal::Goal;
use super::sheet::{Sheet, beyond, bounds, nice_limits, plain, rounded, short};
use crate::problem::Row;

/// What the sections are made of.
pub(super) struct Sections<'a> {
    pub(super) guess: &'a Guess,
    pub(super) table: &'a Table<'a>,
    pub(super) names: &'a Names,
    pub(super) options: &'a TextOptions,
    /// The log's files, as the problem file names them.
    pub(super) files: &'a [String],
    pub(super) goal: Option<&'a Goal>,
}

/// The ends of a column's range, and what lies in between.
struct Range {
    low: f64,
    high: f64,
    /// The values that 5, 50 and 95 of a hundred lie below.
    shares: [f64; 3],
    /// The distinct values, if there are few.
    few: Option<Vec<f64>>,
}

impl Range {
    fn of(column: &Column) -> Self {
        let mut values: Vec<f64> = column.values.iter().copied().filter(|value| value.is_finite()).collect();
        values.sort_by(f64::total_cmp);
        let at = |share: f64| values.get((share * (values.len().max(1) - 1) as f64) as usize).copied().unwrap_or(0.0);
        let (low, high, shares) = (at(0.0), at(1.0), [0.05, 0.5, 0.95].map(at));
        values.dedup();
        Self { low, high, shares, few: (values.len() <= 5).then_some(values) }
    }

    fn span(&self) -> f64 {
        self.high - self.low
    }

    /// With as many digits as tell its values apart.
    fn round(&self, value: f64) -> f64 {
        let unit = 10f64.powf((0.02 * self.span()).max(1e-300).log10().floor());
        rounded((value / unit).round() * unit, 12)
    }
}

impl Sections<'_> {
    fn column(&self, title: &str) -> Option<&Column<'_>> {
        self.table.columns.iter().find(|column| column.title == title)
    }

    fn reason(&self, title: &str) -> &str {
        let reason = self.guess.reasons.iter().find(|(name, _)| name == title);
        reason.map_or("", |(_, reason)| reason)
    }

    /// The lines that name a variable.
    fn name(&self, sheet: &mut Sheet, column: &Column, remark: &str) {
        let name = self.names.of(&column.title);
        sheet.line("name", quoted(name), remark);
        if column.title != name {
            sheet.line("column", quoted(&column.title), "its name in the log");
        }
        if !column.unit.is_empty() {
            // A unit is printed on one line.
            sheet.line("unit", quoted(&plain(&column.unit)), "for people");
        }
    }

    /// `[[input]]`: what the controller sees and does not influence.
    pub(super) fn inputs(&self, sheet: &mut Sheet) {
        for input in &self.guess.inputs {
            let Some(column) = self.column(&input.title) else { continue };
            sheet.section("[[input]]");
            sheet.remark(&format!("{}: {}", what(&input.kind), input.reason));
            let range = Range::of(column);
            match &input.kind {
                InputKind::Mode { values } => {
                    self.name(sheet, column, "the controller sees it and does not influence it");
                    sheet.line("values", quoted_list(values), "rules may hold in one of them only");
                    sheet.example(
                        "rollout",
                        quoted("log"),
                        "how it goes on in rollouts: \"log\" (as it did), or \"hold\"",
                    );
                }
                _ => {
                    let ends = format!("from {} to {} in the log", short(range.low), short(range.high));
                    self.name(sheet, column, &ends);
                    let drawn = bounds([range.round(range.low), range.round(range.high)]);
                    let how = format!(
                        "how it goes on: \"log\" (as it did), \"hold\", \"range\" with `range = {drawn}`, or a CSV file"
                    );
                    sheet.example("rollout", quoted("log"), &how);
                }
            }
        }
    }

    /// `[[state]]`: what the plant is.
    pub(super) fn states(&self, sheet: &mut Sheet, found: &mut Vec<String>) {
        for title in &self.guess.states {
            let Some(column) = self.column(title) else { continue };
            let range = Range::of(column);
            sheet.section("[[state]]");
            sheet.remark(self.reason(title));
            self.name(sheet, column, &format!("from {} to {} in the log", short(range.low), short(range.high)));
            let name = self.names.of(title);
            match angle(column) {
                Angle::Radians => {
                    sheet.line("angle", "true", "radians, taken modulo 2 pi");
                    found.push(format!("`{name}` is an angle: it has the range of one"));
                }
                Angle::Degrees => {
                    sheet.line("angle", quoted("degrees"), "taken modulo 360");
                    found
                        .push(format!("`{name}` is an angle in degrees: it has the range of one, and jumps by a turn"));
                }
                Angle::No => {}
            }
            if let Some((_, set_point)) = self.guess.tracks.iter().find(|(state, _)| state == title) {
                sheet.line(
                    "tracks",
                    quoted(self.names.of(set_point)),
                    "the input that it is to follow; rules see the error",
                );
                sheet.line("integral", "true", "they see its running sum too: without it, some error stays");
            }
            let outer = [beyond(range.low, range.span(), -1.0), beyond(range.high, range.span(), 1.0)];
            sheet.example("keep", bounds(outer), "a range that it should not leave; this is a little beyond the log's");
            let inner = [range.round(range.shares[0]), range.round(range.shares[2])];
            sheet.example("start", bounds(inner), "where rollouts start, with `start = \"ranges\"` above");
        }
    }

    /// The limits of an action: those of the log.
    pub(super) fn limits(&self, title: &str, mirror: Mirror) -> Option<[f64; 2]> {
        let range = Range::of(self.column(title)?);
        let [low, high] = nice_limits(range.low, range.high);
        // Mirrored rules need limits that are mirror images of each other.
        let far = low.abs().max(high.abs());
        Some(if mirror == Mirror::Yes { [-far, far] } else { [low, high] })
    }

    /// `[[action]]`: what the controller sets.
    pub(super) fn actions(&self, sheet: &mut Sheet, mirror: Mirror, found: &mut Vec<String>) {
        for title in &self.guess.actions {
            let (Some(column), Some(limits)) = (self.column(title), self.limits(title, mirror)) else { continue };
            let range = Range::of(column);
            sheet.section("[[action]]");
            sheet.remark(self.reason(title));
            self.name(sheet, column, &format!("from {} to {} in the log", short(range.low), short(range.high)));
            sheet.line("limits", bounds(limits), "the lowest and the highest value: what may be applied");
            if let Some((cost, remark)) = self.goal.and_then(|goal| goal.move_cost(limits)) {
                sheet.line_or_example(self.guess.reward.is_none(), "move_cost", format!("{cost:?}"), &remark);
            }
            let step = short(0.1 * (limits[1] - limits[0]));
            sheet.example("rate", &step, "how far it may move in a step, if that is limited");
            sheet.example("change", "true", "instead: the rules decide how far it moves, not where to,");
            sheet.example("change_limits", format!("[-{step}, {step}]"), "by so much in a step");
            if let Some(few) = &range.few {
                let list: Vec<String> = few.iter().map(|value| short(*value)).collect();
                found.push(format!(
                    "the action `{}` has only the values {}; the controller's will lie between them too",
                    self.names.of(title),
                    list.join(", ")
                ));
            }
        }
    }

    /// `[data]`: the log. Whoever must not run yet gets no reward.
    pub(super) fn data(&self, sheet: &mut Sheet, leads_to: Row, may_run: bool) {
        let guess = self.guess;
        sheet.section("[data]");
        let list = match self.files {
            [file] => quoted(file),
            files => quoted_list(files),
        };
        sheet.line("file", list, "the log: a file, or a list of files");
        for (key, name, remark) in [
            ("time", &guess.time, "the column of time"),
            ("episode", &guess.episode, "the column that tells episodes apart"),
            ("reward", &guess.reward, "the column of the reward"),
            ("terminal", &guess.terminal, "the column that says whether the plant has stopped for good"),
            ("truncated", &guess.truncated, "the column that says whether only the recording stopped"),
            ("next", &guess.next, "how the column of a next state is called"),
        ] {
            let Some(name) = name else { continue };
            match key {
                "reward" if !may_run => {
                    sheet.example(key, quoted(name), "say first which column is the action, then take the first # away")
                }
                key => sheet.line(key, quoted(name), remark),
            }
        }
        if guess.next.is_none() {
            let remark = "\"next\": a row's action led to the next row; \"this\": to this row";
            sheet.line("action_leads_to", quoted(leads_to.word()), remark);
            if guess.reward.is_some() {
                let remark = "\"next\": to the step to the next row; \"this\": to the step to this row";
                sheet.line("reward_belongs_to", quoted("next"), remark);
            }
        }
    }

    /// How the log's text is to be read, as far as the user has said so.
    pub(super) fn reading(&self, sheet: &mut Sheet) {
        let sign = |sign: char| if sign == '\t' { "tab".to_owned() } else { sign.to_string() };
        if let Some(separator) = self.options.separator {
            sheet.line("separator", quoted(&sign(separator)), "between two cells");
        }
        if let Some(decimal) = self.options.decimal {
            sheet.line("decimal", quoted(&sign(decimal)), "before the fraction of a number");
        }
        if !self.options.missing.is_empty() {
            sheet.line("missing", quoted_list(&self.options.missing), "words that stand for a missing value");
        }
        if let Some(memory) = self.options.memory {
            sheet.line("memory", quoted(&memory_written(memory)), "what reading a file of the log may take");
        }
    }

    /// `history` below `[data]`.
    pub(super) fn history(&self, sheet: &mut Sheet) {
        let remark = "past steps that the world model sees, for dead time and hidden states; or a number";
        // Rows that hold their next state need not hang together.
        sheet.line_or_example(self.guess.next.is_none(), "history", quoted("auto"), remark);
    }

    /// `[world]`: what is good, and where the plant stops.
    pub(super) fn world(&self, sheet: &mut Sheet) {
        sheet.section("[world]");
        let column = self.guess.states.first().and_then(|title| self.column(title));
        let (name, range) = match column {
            Some(column) => (self.names.of(&column.title), Range::of(column)),
            None => return,
        };
        let instead = if self.guess.reward.is_none() { "" } else { ", instead of the column" };
        let good = format!("what is good, as a formula{instead}: the largest is aimed at");
        match self.goal {
            Some(goal) => {
                let sure = self.guess.reward.is_none() && !self.guess.unsure_action;
                let remark = match self.guess.unsure_action {
                    true => "say first which column is the action, then take the first # away".to_owned(),
                    false => format!("what is good{instead}: {}", goal.words),
                };
                sheet.line_or_example(sure, "reward", quoted(&goal.reward), &remark);
            }
            None => {
                let (name, middle) = match self.guess.rests.first() {
                    Some((state, value)) => (self.names.of(state), *value),
                    None => (name, range.round(range.shares[1])),
                };
                let formula = match middle {
                    0.0 => format!("-abs({name})"),
                    middle if middle < 0.0 => format!("-abs({name} + {})", short(-middle)),
                    middle => format!("-abs({name} - {})", short(middle)),
                };
                sheet.example("reward", quoted(&formula), &good);
            }
        }
        let far = beyond(range.high, range.span(), 1.0);
        let terminal = match column.is_some_and(is_centred) {
            true => format!("abs({name}) > {}", short(far.max(-beyond(range.low, range.span(), -1.0)))),
            false => format!("{name} > {}", short(far)),
        };
        sheet.example("terminal", quoted(&terminal), "where the plant stops for good, also where the log never was");
    }

    /// `[policy]`: the form of the rules.
    pub(super) fn policy(&self, sheet: &mut Sheet, choices: &Choices) {
        sheet.section("[policy]");
        // Two rules do all that a PI controller does, and lean on other inputs besides.
        let remark = "for each action; \"auto\" adds them while they pay";
        match self.guess.tracks.is_empty() {
            true => sheet.line("rules", quoted("auto"), remark),
            false => sheet.line("rules", "2", remark),
        }
        let remark = "half of the rules mirror the others: left is as good as right";
        match choices.mirror {
            Mirror::Yes => sheet.line("mirrored", "true", remark),
            Mirror::Perhaps => sheet.example("mirrored", "true", remark),
            Mirror::No => {}
        }
    }

    /// A problem file to ask the log by: inputs are states there, so that nothing is known of any, and words are left out.
    pub(super) fn trial(&self, leads_to: Row) -> String {
        let mut sheet = Sheet::default();
        sheet.line("name", quoted("trial"), "");
        sheet.line("horizon", 10, "");
        sheet.line("start", quoted("data"), "");
        let inputs = self.guess.inputs.iter().map(|input| &input.title);
        for (title, is_state) in
            self.guess.states.iter().map(|title| (title, true)).chain(inputs.map(|title| (title, false)))
        {
            let Some(column) = self.column(title).filter(|column| column.kind == fpsrl_data::log::Kind::Number) else {
                continue;
            };
            sheet.section("[[state]]");
            self.name(&mut sheet, column, "");
            match angle(column) {
                Angle::Radians if is_state => sheet.line("angle", "true", ""),
                Angle::Degrees if is_state => sheet.line("angle", quoted("degrees"), ""),
                _ => {}
            }
        }
        for title in &self.guess.actions {
            let (Some(column), Some(limits)) = (self.column(title), self.limits(title, Mirror::No)) else { continue };
            sheet.section("[[action]]");
            self.name(&mut sheet, column, "");
            sheet.line("limits", bounds(limits), "");
        }
        self.data(&mut sheet, leads_to, true);
        self.reading(&mut sheet);
        if self.guess.reward.is_none() {
            sheet.section("[world]");
            sheet.line("reward", quoted("0"), "");
        }
        sheet.text()
    }
}

/// What an input is, in a word.
pub(super) fn what(kind: &InputKind) -> &'static str {
    match kind {
        InputKind::SetPoint { .. } => "a set-point",
        InputKind::Disturbance => "a disturbance",
        InputKind::Mode { .. } => "a mode",
    }
}
