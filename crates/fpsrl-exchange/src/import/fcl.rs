//! The fuzzy control language of IEC 61131-7, with Gaussians as jFuzzyLogic writes them, `TERM a := GAUSS mean deviation;`,
//! or as fuzzylite does, `TERM a := Gaussian mean deviation;`.

use super::{CONSTANT, GAUSSIANS, RuleBase, Source, WHOLE, fll};
use fpsrl_base::error::{Error, Result};

/// The sections, with what ends each and how many words begin it.
const SECTIONS: [(&str, &str, usize); 7] = [
    ("FUNCTION_BLOCK", "END_FUNCTION_BLOCK", 2),
    ("VAR_INPUT", "END_VAR", 1),
    ("VAR_OUTPUT", "END_VAR", 1),
    ("FUZZIFY", "END_FUZZIFY", 2),
    ("DEFUZZIFY", "END_DEFUZZIFY", 2),
    ("RULEBLOCK", "END_RULEBLOCK", 2),
    ("OPTIONS", "END_OPTIONS", 1),
];

/// A section under way.
struct Section {
    kind: &'static str,
    end: &'static str,
    name: String,
    line: usize,
}

/// Reads a rule base: statements that end with a semicolon, in sections that end with a word of their own.
pub(super) fn parse(source: &Source) -> Result<RuleBase> {
    let mut base = RuleBase::default();
    let mut rules: Vec<(usize, String, bool)> = Vec::new();
    // The function block, and a section in it.
    let mut open: Vec<Section> = Vec::new();
    let mut blocks = 0;
    let mut described: Vec<(&str, String)> = Vec::new();
    let mut product = true;
    let text = without_comments(source)?;
    let statements = statements(&text);
    let last = statements.len() - 1;
    for (place, words) in statements.into_iter().enumerate() {
        let mut words: &[Word] = &words;
        // A section begins or ends without a semicolon of its own.
        while let Some((line, first)) = words.first() {
            let (line, upper) = (*line, first.to_uppercase());
            if words.get(1).is_some_and(|(_, word)| word == ":") {
                // A variable, however it is called.
                break;
            }
            if let Some((kind, end, taken)) = SECTIONS.iter().find(|(kind, ..)| *kind == upper) {
                let name = if *taken == 2 { words.get(1).map(|(_, name)| name.clone()) } else { Some(String::new()) };
                let name = name.ok_or_else(|| source.refuse(Some(line), format!("{kind} has no name"), WHOLE))?;
                words = &words[*taken..];
                match (*kind, open.last()) {
                    ("FUNCTION_BLOCK", None) => {
                        blocks += 1;
                        if blocks > 1 {
                            let hint = "put each into its own file";
                            return Err(source.refuse(Some(line), "a second function block begins", hint));
                        }
                    }
                    (kind, Some(section)) if kind == "FUNCTION_BLOCK" || section.kind != "FUNCTION_BLOCK" => {
                        return Err(source.not_ended(line, section));
                    }
                    (kind, None) => {
                        let hint = "FUNCTION_BLOCK with a name begins such a file, and END_FUNCTION_BLOCK ends it";
                        return Err(source.refuse(Some(line), format!("{kind} stands in no function block"), hint));
                    }
                    _ => {}
                }
                if matches!(*kind, "FUZZIFY" | "DEFUZZIFY") {
                    let known = if *kind == "FUZZIFY" { base.input(&name) } else { base.output(&name) };
                    let problem = match known {
                        None => Some(format!("there is no variable `{name}`")),
                        Some(_) if described.contains(&(kind, name.clone())) => {
                            Some(format!("{kind} {name} stands there twice"))
                        }
                        Some(_) => None,
                    };
                    if let Some(problem) = problem {
                        return Err(source.refuse(Some(line), problem, "mend the file"));
                    }
                    described.push((kind, name.clone()));
                }
                product = true;
                open.push(Section { kind, end, name, line });
            } else if upper.starts_with("END_") {
                match open.pop() {
                    Some(section) if section.end == upper => {}
                    Some(section) => return Err(source.not_ended(line, &section)),
                    None => {
                        return Err(source.refuse(Some(line), format!("{first} ends nothing"), "mend the file"));
                    }
                }
                words = &words[1..];
            } else {
                break;
            }
        }
        let Some((line, _)) = words.first() else { continue };
        let line = *line;
        let told = || words.iter().map(|(_, word)| word.as_str()).collect::<Vec<_>>().join(" ");
        if place == last {
            let problem = format!("`{}` has no semicolon behind it", told());
            return Err(source.refuse(Some(line), problem, WHOLE));
        }
        let Some(section) = open.last() else {
            return Err(source.refuse(Some(line), format!("`{}` stands in no section", told()), WHOLE));
        };
        let name = section.name.as_str();
        let texts: Vec<&str> = words.iter().map(|(_, word)| word.as_str()).collect();
        let upper: Vec<String> = texts.iter().map(|word| word.to_uppercase()).collect();
        let upper: Vec<&str> = upper.iter().map(String::as_str).collect();
        match (section.kind, upper.as_slice()) {
            ("VAR_INPUT", [_, ":", "REAL", ..]) => base.add_input(source, line, texts[0])?,
            ("VAR_OUTPUT", [_, ":", "REAL", ..]) => base.add_output(source, line, texts[0])?,
            ("FUZZIFY", ["TERM", _, ":=", "GAUSS" | "GAUSSIAN", mean, deviation]) => {
                let term = source.gaussian(line, source.number(line, mean)?, source.number(line, deviation)?)?;
                base.add_term_to_input(source, line, name, texts[1], term)?;
            }
            ("FUZZIFY", ["TERM", ..]) => {
                let term = texts.get(1).copied().unwrap_or_default();
                return Err(source.refuse(Some(line), format!("the term `{term}` is not a Gaussian"), GAUSSIANS));
            }
            ("DEFUZZIFY", ["TERM", _, ":=", value]) => {
                let value = source.number(line, value)?;
                base.add_term_to_output(source, line, name, texts[1], value)?;
            }
            ("DEFUZZIFY", ["TERM", ..]) => {
                let term = texts.get(1).copied().unwrap_or_default();
                return Err(source.refuse(Some(line), format!("the term `{term}` is not a constant"), CONSTANT));
            }
            ("DEFUZZIFY", ["METHOD", ":", "COGS", ..]) => {}
            ("DEFUZZIFY", ["METHOD", ":", method, ..]) => {
                let hint = "fpsrl takes the weighted mean of the rules' constants: METHOD : COGS";
                return Err(source.refuse(Some(line), format!("the method is {method}"), hint));
            }
            ("FUZZIFY" | "DEFUZZIFY", ["RANGE", ":=", rest @ ..]) => {
                let text = rest.join(" ").replace(['(', ')'], " ");
                let ends: Vec<&str> = text.split("..").collect();
                let [low, high] = ends.as_slice() else {
                    let problem = format!("`{}` is not a range", told());
                    return Err(source.refuse(Some(line), problem, "write RANGE := (lowest .. highest);"));
                };
                let range = Some([source.number(line, low)?, source.number(line, high)?]);
                match (base.input(name), base.output(name)) {
                    (Some(input), _) if section.kind == "FUZZIFY" => base.inputs[input].range = range,
                    (_, Some(output)) => base.outputs[output].range = range,
                    _ => {}
                }
            }
            ("DEFUZZIFY", ["DEFAULT" | "ACCU" | "LOCK", ..])
            | ("FUZZIFY" | "DEFUZZIFY" | "RULEBLOCK", ["ENABLED", ":", "TRUE"]) => {}
            ("RULEBLOCK", ["AND", ":", method, ..]) => product = *method == "PROD",
            ("RULEBLOCK", ["OR" | "ACT" | "ACCU" | "ACTIVATION", ":", ..]) | ("OPTIONS", _) => {}
            ("RULEBLOCK", ["RULE", _, ":", ..]) => rules.push((line, texts[3..].join(" "), product)),
            (kind, _) => {
                let problem = format!("`{}` is nothing that fpsrl knows in {kind}", told());
                return Err(source.refuse(Some(line), problem, "remove it, or check that the file is whole"));
            }
        }
    }
    if let Some(section) = open.last() {
        return Err(source.not_ended(source.text.lines().count(), section));
    }
    for (line, text, product) in rules {
        fll::rule(source, &mut base, line, &text, product)?;
    }
    Ok(base)
}

impl Source<'_> {
    fn not_ended(&self, line: usize, section: &Section) -> Error {
        let Section { kind, end, name, line: begun } = section;
        let problem = format!("{kind} {name}").trim_end().to_owned();
        self.refuse(Some(line), format!("{problem} of line {begun} is not ended: {end} is missing"), WHOLE)
    }
}

/// The text with comments blanked out, so that lines keep their numbers.
fn without_comments(source: &Source) -> Result<String> {
    let mut plain = String::with_capacity(source.text.len());
    let mut rest = source.text;
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
    match end {
        Some(closing) if closing != "\n" => {
            let problem = format!("a comment is not ended: `{closing}` is missing");
            Err(source.refuse(Some(source.text.lines().count()), problem, WHOLE))
        }
        _ => Ok(plain),
    }
}

/// A word, with its line.
type Word = (usize, String);

/// The words before each semicolon, and behind the last one. Punctuation is a word of its own.
fn statements(text: &str) -> Vec<Vec<Word>> {
    let mut statements = Vec::new();
    let mut line = 1;
    for statement in text.split(';') {
        let mut words = Vec::new();
        for (index, part) in statement.split('\n').enumerate() {
            line += usize::from(index > 0);
            let spaced = part
                .replace(":=", " \u{1} ")
                .replace(':', " : ")
                .replace('\u{1}', ":=")
                .replace('(', " ( ")
                .replace(')', " ) ");
            words.extend(spaced.split_whitespace().map(|word| (line, word.to_owned())));
        }
        statements.push(words);
    }
    statements
}
