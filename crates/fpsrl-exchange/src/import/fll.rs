//! The fuzzylite language: lines of `key: value`, in sections.

use super::{CONSTANT, GAUSSIANS, PRODUCT, ReadRule, RuleBase, Source, WHOLE};
use fpsrl_base::error::Result;

/// What may stand in a section. The language has neither ends nor counts, so that a key that is not known may be half of one.
const KEYS: [(&str, &[&str]); 4] = [
    ("Engine", &["description"]),
    ("InputVariable", &["description", "enabled", "range", "lock-range", "term"]),
    (
        "OutputVariable",
        &[
            "description",
            "enabled",
            "range",
            "lock-range",
            "lock-valid",
            "lock-previous",
            "aggregation",
            "accumulation",
            "defuzzifier",
            "default",
            "term",
        ],
    ),
    ("RuleBlock", &["description", "enabled", "conjunction", "disjunction", "implication", "activation", "rule"]),
];

/// Reads a rule base.
pub(super) fn parse(source: &Source) -> Result<RuleBase> {
    let mut base = RuleBase::default();
    let mut section: Option<(&str, &[&str])> = None;
    let mut engines = 0;
    let mut rules: Vec<(usize, String, bool)> = Vec::new();
    let mut product = true;
    for (index, line) in source.text.lines().enumerate() {
        let number = index + 1;
        let line = line.split('#').next().unwrap_or_default().trim();
        let Some((key, value)) = line.split_once(':') else {
            if line.is_empty() {
                continue;
            }
            return Err(source.refuse(
                Some(number),
                format!("`{line}` is not of the form `key: value`"),
                "is it an FLL file, and whole?",
            ));
        };
        let (key, value) = (key.trim(), value.trim());
        if let Some(begun) = KEYS.iter().find(|(name, _)| *name == key) {
            section = Some(*begun);
            product = true;
            match key {
                "Engine" => {
                    engines += 1;
                    if engines > 1 {
                        return Err(source.refuse(
                            Some(number),
                            "a second engine begins",
                            "put each into its own file",
                        ));
                    }
                }
                "InputVariable" => base.add_input(source, number, value)?,
                "OutputVariable" => base.add_output(source, number, value)?,
                _ => {}
            }
            continue;
        }
        let Some((section, keys)) = section else {
            let problem = format!("`{key}` stands in no section");
            return Err(source.refuse(Some(number), problem, "is it an FLL file, and whole?"));
        };
        if !keys.contains(&key) {
            let problem = format!("`{key}` is nothing that {section} has");
            return Err(source.refuse(
                Some(number),
                problem,
                format!("it has {}; is the file whole?", keys.join(", ")),
            ));
        }
        match key {
            "enabled" if value == "true" => {}
            "enabled" => {
                return Err(source.refuse(
                    Some(number),
                    "something in it is not enabled",
                    "remove it from the file, or enable it",
                ));
            }
            "range" => {
                let range = range(source, number, value)?;
                match (section, base.inputs.last_mut(), base.outputs.last_mut()) {
                    ("InputVariable", Some(input), _) => input.range = range,
                    (_, _, Some(output)) => output.range = range,
                    _ => {}
                }
            }
            "term" => {
                let words: Vec<&str> = value.split_whitespace().collect();
                match (section, words.as_slice()) {
                    ("InputVariable", [name, "Gaussian", mean, deviation]) => {
                        let (mean, deviation) = (source.number(number, mean)?, source.number(number, deviation)?);
                        let term = source.gaussian(number, mean, deviation)?;
                        base.add_input_term(source, number, name, term)?;
                    }
                    ("OutputVariable", [name, "Constant", value]) => {
                        let value = source.number(number, value)?;
                        base.add_output_term(source, number, name, value)?;
                    }
                    (section, [name, kind, ..]) => {
                        let hint = if section == "OutputVariable" { CONSTANT } else { GAUSSIANS };
                        return Err(source.refuse(Some(number), format!("the term `{name}` is a {kind}"), hint));
                    }
                    _ => return Err(source.refuse(Some(number), "the term is not whole", "mend the file")),
                }
            }
            "defuzzifier" if !value.starts_with("WeightedAverage") => {
                let hint = "fpsrl takes the weighted average of the rules; set it in the tool that made the file";
                return Err(source.refuse(Some(number), format!("the defuzzifier is {value}"), hint));
            }
            "conjunction" => product = value == "AlgebraicProduct",
            "rule" => rules.push((number, value.to_owned(), product)),
            _ => {}
        }
    }
    for (line, text, product) in rules {
        rule(source, &mut base, line, &text, product)?;
    }
    if !source.text.is_empty() && !source.text.ends_with('\n') {
        refuse_half_a_name(source, &base)?;
        base.notes.push("the last line has no line break: check that the file is whole".into());
    }
    Ok(base)
}

/// A last line that has no line break may be half of one. A term of it that is the beginning of another, which no rule uses, is
/// half of that.
fn refuse_half_a_name(source: &Source, base: &RuleBase) -> Result<()> {
    let Some(last) = base.rules.last() else { return Ok(()) };
    let output = &base.outputs[last.output];
    let name = &output.terms[last.term].0;
    let is_used = |term: usize| base.rules.iter().any(|rule| rule.output == last.output && rule.term == term);
    let whole = (0..output.terms.len()).find(|term| {
        let other = &output.terms[*term].0;
        other != name && other.starts_with(name.as_str()) && !is_used(*term)
    });
    let Some(whole) = whole else { return Ok(()) };
    let problem = format!("the file ends in the middle of `{}`", output.terms[whole].0);
    Err(source.refuse(Some(source.text.lines().count()), problem, WHOLE))
}

fn range(source: &Source, line: usize, text: &str) -> Result<Option<[f64; 2]>> {
    let words: Vec<&str> = text.split_whitespace().collect();
    match words.as_slice() {
        // fuzzylite writes `-inf inf` where there is none.
        [low, high] if low.contains("inf") || high.contains("inf") => Ok(None),
        [low, high] => Ok(Some([source.number(line, low)?, source.number(line, high)?])),
        _ => {
            Err(source.refuse(Some(line), format!("`{text}` is not a range"), "write the lowest and the highest value"))
        }
    }
}

/// `if a is b and c is d then e is f with 1.0`; FCL has the same words.
pub(super) fn rule(source: &Source, base: &mut RuleBase, line: usize, text: &str, product: bool) -> Result<()> {
    let refuse = |problem: String, hint: &str| source.refuse(Some(line), problem, hint);
    let lower: Vec<String> = text.split_whitespace().map(str::to_lowercase).collect();
    let words: Vec<&str> = text.split_whitespace().collect();
    let form = "rules are of the form `if a is b and c is d then e is f`";
    let then = lower
        .iter()
        .position(|word| word == "then")
        .ok_or_else(|| refuse(format!("the rule `{text}` has no `then`"), form))?;
    if lower.first().map(String::as_str) != Some("if") {
        return Err(refuse(format!("the rule `{text}` does not begin with `if`"), form));
    }
    let mut end = words.len();
    if let Some(with) = lower.iter().position(|word| word == "with") {
        let weight = words.get(with + 1).copied().unwrap_or_default();
        if with < then || source.number(line, weight)? != 1.0 {
            return Err(refuse(format!("the rule `{text}` has a weight"), "fpsrl's rules have no weights; remove it"));
        }
        end = with;
    }
    let mut conditions = vec![None; base.inputs.len()];
    for (part, lower) in parts(&words[1..then], &lower[1..then]) {
        match (part.as_slice(), lower.as_slice()) {
            ([name, _, term], [_, is, _]) if is == "is" && lower[2] != "any" => {
                let input =
                    base.input(name).ok_or_else(|| refuse(format!("there is no input `{name}`"), "mend the file"))?;
                let found = base.inputs[input].terms.iter().position(|(known, _)| known == term);
                let term = found.ok_or_else(|| refuse(format!("`{name}` has no term `{term}`"), "mend the file"))?;
                if conditions[input].replace(term).is_some() {
                    return Err(refuse(
                        format!("the rule `{text}` speaks of `{name}` twice"),
                        "one condition for each input",
                    ));
                }
            }
            // A condition that always holds.
            ([_, _, any, ..], [_, is, ..]) if is == "is" && any.eq_ignore_ascii_case("any") => {}
            _ => {
                let said = part.join(" ");
                return Err(refuse(
                    format!("the condition `{said}` is not of the form `a is b`"),
                    "fpsrl knows neither OR nor NOT nor hedges",
                ));
            }
        }
    }
    if !product && conditions.iter().flatten().count() > 1 {
        return Err(refuse("conditions are not joined by their product".into(), PRODUCT));
    }
    for (part, lower) in parts(&words[then + 1..end], &lower[then + 1..end]) {
        match (part.as_slice(), lower.as_slice()) {
            ([name, _, term], [_, is, _]) if is == "is" => {
                let output =
                    base.output(name).ok_or_else(|| refuse(format!("there is no output `{name}`"), "mend the file"))?;
                let found = base.outputs[output].terms.iter().position(|(known, _)| known == term);
                let term = found.ok_or_else(|| refuse(format!("`{name}` has no term `{term}`"), "mend the file"))?;
                base.rules.push(ReadRule { conditions: conditions.clone(), output, term });
            }
            _ => return Err(refuse(format!("`{}` is not of the form `a is b`", part.join(" ")), form)),
        }
    }
    Ok(())
}

/// What stands between `and`, as it is and in lower case.
fn parts<'a>(words: &[&'a str], lower: &[String]) -> Vec<(Vec<&'a str>, Vec<String>)> {
    let mut parts = vec![(Vec::new(), Vec::new())];
    for (word, small) in words.iter().zip(lower) {
        if small == "and" {
            parts.push((Vec::new(), Vec::new()));
        } else if let Some((part, small_part)) = parts.last_mut() {
            part.push(*word);
            small_part.push(small.clone());
        }
    }
    parts
}
