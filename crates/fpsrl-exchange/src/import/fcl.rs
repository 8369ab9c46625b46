//! The fuzzy control language of IEC 61131-7, with Gaussians as jFuzzyLogic writes them, `TERM a := GAUSS mean deviation;`,
//! or as fuzzylite does, `TERM a := Gaussian mean deviation;`.

use super::{CONSTANT, GAUSSIANS, Input, Output, RuleBase, Source, fll};
use fpsrl_base::error::Result;

/// What ends a section.
const ENDS: [&str; 6] =
    ["END_VAR", "END_FUZZIFY", "END_DEFUZZIFY", "END_RULEBLOCK", "END_OPTIONS", "END_FUNCTION_BLOCK"];

/// Reads a rule base: statements that end with a semicolon, in sections.
pub(super) fn parse(source: &Source) -> Result<RuleBase> {
    let mut base = RuleBase::default();
    let mut rules: Vec<(usize, String, bool)> = Vec::new();
    let mut section = String::new();
    let mut product = true;
    for (line, statement) in statements(&without_comments(source.text)) {
        let mut words: Vec<&str> = statement.split_whitespace().collect();
        // A section begins or ends without a semicolon of its own.
        loop {
            let upper = words.first().map(|word| word.to_uppercase()).unwrap_or_default();
            let taken = match upper.as_str() {
                "FUNCTION_BLOCK" | "RULEBLOCK" => {
                    product = true;
                    2
                }
                "VAR_INPUT" | "VAR_OUTPUT" => 1,
                "FUZZIFY" | "DEFUZZIFY" => {
                    let name = words.get(1).copied().unwrap_or_default();
                    let known = if upper == "FUZZIFY" { base.input(name) } else { base.output(name) };
                    if known.is_none() {
                        return Err(source.refuse(
                            Some(line),
                            format!("there is no variable `{name}`"),
                            "mend the file",
                        ));
                    }
                    section = format!("{upper} {name}");
                    words.drain(..2.min(words.len()));
                    continue;
                }
                word if ENDS.contains(&word) => 1,
                _ => break,
            };
            if !ENDS.contains(&upper.as_str()) {
                section.clone_from(&upper);
            }
            words.drain(..taken.min(words.len()));
        }
        let upper: Vec<String> = words.iter().map(|word| word.to_uppercase()).collect();
        let upper: Vec<&str> = upper.iter().map(String::as_str).collect();
        let (what, name) = section.split_once(' ').unwrap_or((&section, ""));
        match (what, upper.as_slice()) {
            (_, []) => {}
            ("VAR_INPUT", [_, ":", "REAL", ..]) => {
                base.inputs.push(Input { name: words[0].to_owned(), range: None, terms: Vec::new() });
            }
            ("VAR_OUTPUT", [_, ":", "REAL", ..]) => {
                base.outputs.push(Output { name: words[0].to_owned(), range: None, terms: Vec::new() });
            }
            ("FUZZIFY", ["TERM", _, ":=", "GAUSS" | "GAUSSIAN", mean, deviation]) => {
                let term = source.gaussian(line, source.number(line, mean)?, source.number(line, deviation)?)?;
                if let Some(input) = base.input(name) {
                    base.inputs[input].terms.push((words[1].to_owned(), term));
                }
            }
            ("FUZZIFY", ["TERM", ..]) => {
                let term = words.get(1).copied().unwrap_or_default();
                return Err(source.refuse(Some(line), format!("the term `{term}` is not a Gaussian"), GAUSSIANS));
            }
            ("DEFUZZIFY", ["TERM", _, ":=", value]) => {
                let value = source.number(line, value)?;
                if let Some(output) = base.output(name) {
                    base.outputs[output].terms.push((words[1].to_owned(), value));
                }
            }
            ("DEFUZZIFY", ["TERM", ..]) => {
                let term = words.get(1).copied().unwrap_or_default();
                return Err(source.refuse(Some(line), format!("the term `{term}` is not a constant"), CONSTANT));
            }
            ("DEFUZZIFY", ["METHOD", ":", method, ..]) if *method != "COGS" => {
                let hint = "fpsrl takes the weighted mean of the rules' constants: METHOD : COGS";
                return Err(source.refuse(Some(line), format!("the method is {method}"), hint));
            }
            ("DEFUZZIFY", ["RANGE", ":=", rest @ ..]) => {
                let text = rest.join(" ").replace(['(', ')'], " ");
                let ends: Vec<&str> = text.split("..").collect();
                if let ([low, high], Some(output)) = (ends.as_slice(), base.output(name)) {
                    base.outputs[output].range = Some([source.number(line, low)?, source.number(line, high)?]);
                }
            }
            ("FUZZIFY", ["RANGE", ":=", rest @ ..]) => {
                let text = rest.join(" ").replace(['(', ')'], " ");
                let ends: Vec<&str> = text.split("..").collect();
                if let ([low, high], Some(input)) = (ends.as_slice(), base.input(name)) {
                    base.inputs[input].range = Some([source.number(line, low)?, source.number(line, high)?]);
                }
            }
            ("RULEBLOCK", ["AND", ":", method, ..]) => product = *method == "PROD",
            ("RULEBLOCK", ["RULE", ..]) => {
                let colon = words.iter().position(|word| *word == ":").unwrap_or(0);
                rules.push((line, words[colon + 1..].join(" "), product));
            }
            _ => {}
        }
    }
    for (line, text, product) in rules {
        fll::rule(source, &mut base, line, &text, product)?;
    }
    Ok(base)
}

/// The text with comments blanked out, so that lines keep their numbers.
fn without_comments(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut rest = text;
    let mut end: Option<&str> = None;
    while let Some(c) = rest.chars().next() {
        match end {
            Some(closing) if rest.starts_with(closing) => {
                end = None;
                plain.push_str(if closing == "\n" { "\n" } else { " " });
                rest = &rest[closing.len()..];
                continue;
            }
            Some(_) => plain.push(if c == '\n' { '\n' } else { ' ' }),
            None => {
                end = [("//", "\n"), ("(*", "*)"), ("/*", "*/")]
                    .iter()
                    .find(|(open, _)| rest.starts_with(open))
                    .map(|(_, close)| *close);
                if end.is_none() {
                    plain.push(c);
                }
            }
        }
        rest = &rest[c.len_utf8()..];
    }
    plain
}

/// What stands before each semicolon, with the line of that semicolon: what stands before a statement may be the beginning
/// of a section, on lines of its own. Punctuation is set apart by spaces.
fn statements(text: &str) -> Vec<(usize, String)> {
    let mut statements = Vec::new();
    let mut line = 1;
    for statement in text.split(';') {
        line += statement.matches('\n').count();
        let spaced = statement
            .replace(":=", " \u{1} ")
            .replace(':', " : ")
            .replace('\u{1}', ":=")
            .replace('(', " ( ")
            .replace(')', " ) ");
        statements.push((line, spaced));
    }
    statements
}
