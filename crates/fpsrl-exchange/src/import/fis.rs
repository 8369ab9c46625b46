//! The file of MATLAB's and Octave's fuzzy toolboxes: sections of `key=value`, then rules as numbers of terms.

use super::{CONSTANT, GAUSSIANS, Input, Output, PRODUCT, ReadRule, RuleBase, Source, WHOLE};
use fpsrl_base::error::Result;

/// What a file says of how many there are, each with its line.
#[derive(Default)]
struct Counts {
    inputs: Option<(usize, usize)>,
    outputs: Option<(usize, usize)>,
    rules: Option<(usize, usize)>,
    /// Of each input's terms, then of each output's.
    terms: [Vec<Option<(usize, usize)>>; 2],
}

/// Reads a rule base.
pub(super) fn parse(source: &Source) -> Result<RuleBase> {
    let mut base = RuleBase::default();
    let mut counts = Counts::default();
    let mut section = String::new();
    let (mut begun, mut rules) = (Vec::new(), 0);
    let mut product = false;
    for (index, line) in source.text.lines().enumerate() {
        let number = index + 1;
        let line = line.trim();
        if line.is_empty() || line.starts_with(['%', '#']) {
            continue;
        }
        if let Some(name) = line.strip_prefix('[').and_then(|line| line.strip_suffix(']')) {
            section = name.trim_end_matches(|c: char| c.is_ascii_digit()).to_lowercase();
            let expected = match section.as_str() {
                "input" => {
                    base.inputs.push(Input { name: String::new(), range: None, terms: Vec::new() });
                    counts.terms[0].push(None);
                    format!("input{}", base.inputs.len())
                }
                "output" => {
                    base.outputs.push(Output { name: String::new(), range: None, terms: Vec::new() });
                    counts.terms[1].push(None);
                    format!("output{}", base.outputs.len())
                }
                "system" | "rules" => section.clone(),
                _ => {
                    let hint = "it has [System], [Input1] and so on, [Output1] and so on, and [Rules]";
                    return Err(source.refuse(Some(number), format!("there is no section called [{name}]"), hint));
                }
            };
            // Rules name terms by their numbers, and inputs by their order.
            let again = ["system", "rules"].contains(&expected.as_str()) && begun.contains(&expected);
            if name.to_lowercase() != expected || again {
                let problem = format!("[{name}] stands where [{expected}] is meant, or stands there twice");
                return Err(source.refuse(Some(number), problem, "put the sections in order, each once"));
            }
            if !expected.ends_with(|c: char| c.is_ascii_digit()) {
                begun.push(expected);
            }
            continue;
        }
        if section == "rules" {
            rule(source, &mut base, number, line, product)?;
            rules += 1;
            continue;
        }
        let Some((key, value)) = line.split_once('=') else {
            return Err(source.refuse(
                Some(number),
                format!("`{line}` is not of the form `key=value`"),
                "is it a FIS file?",
            ));
        };
        let (key, value) = (key.trim().to_lowercase(), value.trim());
        let text = value.trim_matches('\'');
        match (section.as_str(), key.as_str()) {
            ("system", "type") if text != "sugeno" => {
                return Err(source.refuse(Some(number), format!("the system is of type {text}"), CONSTANT));
            }
            ("system", "andmethod") => product = text == "prod",
            ("system", "numinputs") => counts.inputs = Some((number, source.count(number, value)?)),
            ("system", "numoutputs") => counts.outputs = Some((number, source.count(number, value)?)),
            ("system", "numrules") => counts.rules = Some((number, source.count(number, value)?)),
            ("input" | "output", "nummfs") => {
                let known = counts.terms[usize::from(section == "output")].last_mut();
                *known.ok_or_else(|| source.refuse(Some(number), "it stands in no section", WHOLE))? =
                    Some((number, source.count(number, value)?));
            }
            ("system", "defuzzmethod") if text != "wtaver" => {
                let hint = "fpsrl takes the weighted average of the rules: DefuzzMethod='wtaver'";
                return Err(source.refuse(Some(number), format!("the method of defuzzification is {text}"), hint));
            }
            ("input" | "output", "name" | "range") => {
                let range = if key == "range" { Some(numbers(source, number, value)?) } else { None };
                let range = match range.as_deref() {
                    Some([low, high]) => Some([*low, *high]),
                    Some(_) => {
                        return Err(source.refuse(Some(number), "the range is not two numbers", "mend the file"));
                    }
                    None => None,
                };
                let (name, known) = match (section.as_str(), base.inputs.last_mut(), base.outputs.last_mut()) {
                    ("input", Some(input), _) => (&mut input.name, &mut input.range),
                    (_, _, Some(output)) => (&mut output.name, &mut output.range),
                    _ => continue,
                };
                match range {
                    Some(range) => *known = Some(range),
                    None if !name.is_empty() => {
                        return Err(source.refuse(Some(number), "it has a name already", "mend the file"));
                    }
                    None => text.clone_into(name),
                }
            }
            ("input" | "output", key) if key.starts_with("mf") => {
                let parts = value.strip_prefix('\'').and_then(|rest| {
                    let (name, rest) = rest.split_once("':'")?;
                    let (kind, rest) = rest.split_once("',")?;
                    Some((name, kind, rest))
                });
                let Some((name, kind, rest)) = parts else {
                    return Err(source.refuse(Some(number), "the membership function is not whole", WHOLE));
                };
                let known = match section.as_str() {
                    "input" => base.inputs.last().map(|input| input.terms.len()),
                    _ => base.outputs.last().map(|output| output.terms.len()),
                };
                // Rules name them by their numbers.
                let expected = format!("mf{}", known.unwrap_or_default() + 1);
                if key != expected {
                    let problem = format!("`{key}` stands where `{expected}` is meant");
                    return Err(source.refuse(
                        Some(number),
                        problem,
                        "put the membership functions in order, each once",
                    ));
                }
                let parameters = numbers(source, number, rest)?;
                match (section.as_str(), kind, parameters.as_slice(), base.inputs.last_mut(), base.outputs.last_mut()) {
                    ("input", "gaussmf", [deviation, mean], Some(input), _) => {
                        input.terms.push((name.to_owned(), source.gaussian(number, *mean, *deviation)?));
                    }
                    ("output", "constant", [value], _, Some(output)) => output.terms.push((name.to_owned(), *value)),
                    // A linear function that does not depend on the inputs.
                    ("output", "linear", [slopes @ .., value], _, Some(output))
                        if slopes.iter().all(|slope| *slope == 0.0) =>
                    {
                        output.terms.push((name.to_owned(), *value));
                    }
                    (section, ..) => {
                        let hint = if section == "output" { CONSTANT } else { GAUSSIANS };
                        return Err(source.refuse(
                            Some(number),
                            format!("the membership function `{name}` is a {kind}"),
                            hint,
                        ));
                    }
                }
            }
            _ => {}
        }
    }
    base.check_names(source)?;
    counts.check(source, &mut base, rules)?;
    Ok(base)
}

impl Counts {
    /// Holds what was read to what the file says that there is.
    fn check(&self, source: &Source, base: &mut RuleBase, rules: usize) -> Result<()> {
        let held = |said: Option<(usize, usize)>, found: usize, what: &str| match said {
            Some((line, said)) if said != found => {
                let problem = format!("it should have {said} {what} by line {line}, and has {found}");
                Err(source.refuse(None, problem, WHOLE))
            }
            _ => Ok(()),
        };
        held(self.inputs, base.inputs.len(), "inputs")?;
        held(self.outputs, base.outputs.len(), "outputs")?;
        let inputs = base.inputs.iter().map(|input| (&input.name, input.terms.len())).zip(&self.terms[0]);
        let outputs = base.outputs.iter().map(|output| (&output.name, output.terms.len())).zip(&self.terms[1]);
        for ((name, terms), said) in inputs.chain(outputs) {
            held(*said, terms, &format!("membership functions of `{name}`"))?;
        }
        held(self.rules, rules, "rules")?;
        if self.rules.is_none() {
            base.notes.push("it does not say how many rules it has (NumRules): check that the file is whole".into());
        }
        Ok(())
    }
}

impl Source<'_> {
    fn count(&self, line: usize, text: &str) -> Result<usize> {
        text.parse().map_err(|_| self.refuse(Some(line), format!("`{text}` is not a count"), "mend the file"))
    }
}

/// `[1 2]`.
fn numbers(source: &Source, line: usize, text: &str) -> Result<Vec<f64>> {
    let inner = text.trim().trim_start_matches('[').trim_end_matches(']');
    inner.split([' ', ',', '\t']).filter(|word| !word.is_empty()).map(|word| source.number(line, word)).collect()
}

/// `1 2, 1 0 (1) : 1`: a term for each input, a term for each output, the weight, and how conditions are joined.
fn rule(source: &Source, base: &mut RuleBase, line: usize, text: &str, product: bool) -> Result<()> {
    let refuse = |problem: &str, hint: &str| source.refuse(Some(line), problem, hint);
    let form = "rules are of the form `1 2, 1 (1) : 1`";
    let parts = text.split_once(',').and_then(|(conditions, rest)| {
        let (consequents, rest) = rest.split_once('(')?;
        let (weight, joined) = rest.split_once(')')?;
        Some((conditions, consequents, weight, joined.trim().strip_prefix(':')?.trim()))
    });
    let (conditions, consequents, weight, joined) = parts.ok_or_else(|| refuse("the rule is not whole", form))?;
    if !["1", "2"].contains(&joined) {
        return Err(refuse("the rule is not whole", form));
    }
    if source.number(line, weight)? != 1.0 {
        return Err(refuse("the rule has a weight", "fpsrl's rules have no weights; make it 1"));
    }
    let index = |word: &str, terms: usize| match word.parse::<i64>() {
        Ok(0) => Ok(None),
        Ok(number) if number < 0 => Err(refuse("the rule negates a condition", "fpsrl knows no NOT")),
        Ok(number) if number as usize <= terms => Ok(Some(number as usize - 1)),
        _ => Err(refuse("the rule names a term that is not there, or uses a hedge", form)),
    };
    let words: Vec<&str> = conditions.split_whitespace().collect();
    let outputs: Vec<&str> = consequents.split_whitespace().collect();
    if words.len() != base.inputs.len() || outputs.len() != base.outputs.len() {
        return Err(refuse("the rule does not name a term for each input and output", form));
    }
    let conditions: Vec<Option<usize>> =
        words.iter().zip(&base.inputs).map(|(word, input)| index(word, input.terms.len())).collect::<Result<_>>()?;
    if conditions.iter().flatten().count() > 1 {
        if joined != "1" {
            return Err(refuse("the conditions are joined by OR", "fpsrl knows only AND"));
        }
        if !product {
            return Err(refuse("conditions are not joined by their product", PRODUCT));
        }
    }
    for (output, word) in outputs.iter().enumerate() {
        if let Some(term) = index(word, base.outputs[output].terms.len())? {
            base.rules.push(ReadRule { conditions: conditions.clone(), output, term });
        }
    }
    Ok(())
}
