//! The fuzzylite language: lines of `key: value`, in sections.

use super::{CONSTANT, GAUSSIANS, Input, Output, PRODUCT, ReadRule, RuleBase, Source};
use fpsrl_base::error::Result;

/// Reads a rule base.
pub(super) fn parse(source: &Source) -> Result<RuleBase> {
    let mut base = RuleBase::default();
    let mut section = String::new();
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
                "is it an FLL file?",
            ));
        };
        let (key, value) = (key.trim(), value.trim());
        match key {
            "Engine" | "InputVariable" | "OutputVariable" | "RuleBlock" => {
                section = key.to_owned();
                product = true;
                match key {
                    "InputVariable" => {
                        base.inputs.push(Input { name: value.to_owned(), range: None, terms: Vec::new() })
                    }
                    "OutputVariable" => {
                        base.outputs.push(Output { name: value.to_owned(), range: None, terms: Vec::new() })
                    }
                    _ => {}
                }
            }
            "enabled" if value == "false" => {
                return Err(source.refuse(
                    Some(number),
                    "something in it is not enabled",
                    "remove it from the file, or enable it",
                ));
            }
            "range" => {
                let range = range(source, number, value)?;
                match (section.as_str(), base.inputs.last_mut(), base.outputs.last_mut()) {
                    ("InputVariable", Some(input), _) => input.range = range,
                    ("OutputVariable", _, Some(output)) => output.range = range,
                    _ => {}
                }
            }
            "term" => {
                let words: Vec<&str> = value.split_whitespace().collect();
                match (section.as_str(), words.as_slice(), base.inputs.last_mut(), base.outputs.last_mut()) {
                    ("InputVariable", [name, "Gaussian", mean, deviation], Some(input), _) => {
                        let (mean, deviation) = (source.number(number, mean)?, source.number(number, deviation)?);
                        input.terms.push(((*name).to_owned(), source.gaussian(number, mean, deviation)?));
                    }
                    ("OutputVariable", [name, "Constant", value], _, Some(output)) => {
                        output.terms.push(((*name).to_owned(), source.number(number, value)?));
                    }
                    (section, [name, kind, ..], ..) => {
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
    Ok(base)
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
