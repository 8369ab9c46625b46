//! The rules in words and as pictures that move, the player, and the control surface.

use std::fmt::Write;

use super::findings::{Findings, mean};
use super::text::{amount, measure, name};
use fpsrl_engine::policy::{ActionRules, Derived, FuzzyPolicy, Rule};
use fpsrl_explain::{
    CELL, DRAWING, around, combined_cell, condition_words, drawing, escape, histogram_path, membership_cell, minus,
    mode_cell, modes_of, noticeable, output_cell, shown_inputs, steepness, unused_inputs,
};

/// A rule as a sentence with its parts marked; what is crossed out does not matter.
fn sentence(policy: &FuzzyPolicy, action: &ActionRules, index: usize, simple: &Rule) -> String {
    let rule = &action.rules[index];
    let conditions: Vec<String> = policy
        .states
        .iter()
        .enumerate()
        .filter(|(variable, state)| !simple.ignores(*variable) && state.values.is_empty())
        .map(|(variable, state)| {
            let around = escape(&minus(&around(state, rule.centre[variable], rule.width[variable])));
            format!("{} is around <span class=\"number\">{around}</span>", name(&state.name))
        })
        .collect();
    let wanted = format!(
        "{} <span class=\"number\">{}</span>",
        name(&action.name),
        measure(noticeable(action.alone(index), action.limits), &action.unit)
    );
    let modes: Vec<String> = modes_of(&policy.states, simple).into_iter().map(name).collect();
    let modes = modes.join(" <b>and</b> ");
    let conditions = conditions.join(" <b>and</b> ");
    match (modes.is_empty(), conditions.is_empty()) {
        (true, true) => format!("<b>Always</b> {wanted}"),
        (false, true) => format!("<b>In</b> {modes}: {wanted}"),
        (true, false) => format!("<b>If</b> {conditions} <b>then</b> {wanted}"),
        (false, false) => format!("<b>In</b> {modes}: <b>if</b> {conditions} <b>then</b> {wanted}"),
    }
}

/// The rules in words, and as pictures that move.
pub(super) fn rules(findings: &Findings) -> String {
    let Findings { policy, simple, .. } = findings;
    let mut text = String::from("<h2 id=\"rules-title\">The rules</h2>");
    let steepness = steepness(policy);
    for ((action, short), steep) in policy.actions.iter().zip(&simple.policy.actions).zip(steepness) {
        if policy.actions.len() > 1 {
            let _ = write!(text, "<h3>For {}</h3>", name(&action.name));
        }
        text.push_str("<ol class=\"sentences\">");
        for (index, rule) in short.rules.iter().enumerate() {
            let _ = write!(text, "<li>{}.</li>", sentence(policy, action, index, rule));
        }
        text.push_str("</ol>");
        if let Some(steep) = steep {
            let _ = write!(text, "<p><bdi>{}</bdi>.</p>", escape(&minus(&steep)));
        }
        text.push_str(&cut_off(action));
    }
    text.push_str(&what_does_not_matter(findings));
    for state in findings.system.policy_states().iter().filter(|state| state.degrees) {
        let _ = write!(text, "<p>{} is in radians; the log had it in degrees.</p>", name(&state.name));
    }
    text.push_str(
        "<p class=\"quiet\">A rule weighs more the nearer the state is to its centre; the action is what \
         they agree on. \
         Below: the rule\u{2019}s reach as a curve, the log behind it, the state as a red line with a head, and how \
         far the \
         condition holds there as a grey area. Move the state, or take one from the list.",
    );
    if policy.states.iter().any(|state| !state.values.is_empty()) {
        text.push_str(
            " Of a mode, the one that the rule holds in is ticked, and the red head is at that of the state.",
        );
    }
    text.push_str("</p>");
    // The log's histograms are drawn once, and stand behind the cells of every rule.
    text.push_str("<svg class=\"visually-hidden\" aria-hidden=\"true\"><defs>");
    for (variable, input) in findings.profile.inputs.iter().enumerate().take(policy.states.len()) {
        if policy.states[variable].values.is_empty() {
            let _ = write!(text, "<g id=\"log-{variable}\">{}</g>", histogram_path(input));
        }
    }
    text.push_str("</defs></svg><div class=\"bench\">");
    text.push_str(&panel(findings));
    text.push_str("<div class=\"rulebook\">");
    for number in 0..policy.actions.len() {
        text.push_str(&rule_rows(findings, number));
    }
    text.push_str("</div></div>");
    text
}

/// Where rules reach beyond the limits: what they want there is not what is done.
fn cut_off(action: &ActionRules) -> String {
    if action.reach <= 1.0 {
        return String::new();
    }
    let [low, high] = action.limits;
    format!(
        "<p>{} follows its rules nearly straight and is cut off at {} and {}, as that of a PI controller is. A rule that \
         wants a limit may pull beyond it.</p>",
        name(&action.name),
        measure(low, ""),
        measure(high, &action.unit)
    )
}

fn what_does_not_matter(findings: &Findings) -> String {
    let simple = &findings.simple;
    let tolerance = amount(simple.tolerance);
    if simple.removed.is_empty() {
        return format!(
            "<p>Each condition matters: leaving out any one of them costs more than {tolerance} of return.</p>"
        );
    }
    // What rules see as an error only was never a condition.
    let shown = shown_inputs(&findings.policy);
    let is_shown = |input: &&str| shown.iter().any(|variable| findings.policy.states[*variable].name == **input);
    let unused: Vec<&str> = unused_inputs(&simple.policy).into_iter().filter(is_shown).collect();
    let mut text = String::from("<p>");
    if !unused.is_empty() {
        let names: Vec<String> = unused.iter().map(|input| name(input)).collect();
        let verb = if unused.len() == 1 { "makes" } else { "make" };
        let _ = write!(
            text,
            "{} {verb} no difference and {} left out. ",
            names.join(", "),
            if unused.len() == 1 { "is" } else { "are" }
        );
    }
    let single: Vec<String> = simple
        .removed
        .iter()
        .filter(|one| !unused.contains(&findings.policy.states[one.variable].name.as_str()))
        .map(|one| format!("{} in rule {}", name(&findings.policy.states[one.variable].name), one.rule + 1))
        .collect();
    if !single.is_empty() {
        let _ = write!(
            text,
            "Left out because {}: {}. ",
            if single.len() == 1 { "it does not matter there" } else { "they do not matter there" },
            single.join(", ")
        );
    }
    let price = findings.model_return - findings.simple_model_return;
    let cost = match price {
        price if price > 5e-3 * findings.model_return.abs().max(1e-9) * 0.02 => {
            format!("costs {} of return", amount(price))
        }
        price if price < 0.0 => format!("brings {} of return", amount(-price)),
        _ => "costs nothing".to_owned(),
    };
    let truth = match (findings.simple_true_return, &findings.true_returns) {
        (Some(short), Some(whole)) => {
            format!(" On the true plant: {} instead of {}.", amount(short), amount(mean(whole)))
        }
        _ => String::new(),
    };
    let _ = write!(
        text,
        "The shorter policy {cost} on the world model (up to {tolerance} was allowed on the starts of the search), \
         and is in <code>policy.simple.json</code>.{truth} \
         The pictures show the whole policy, with dashed frames around what does not matter.</p>"
    );
    text
}

/// Sliders, the list of states, the plant, and the action.
fn panel(findings: &Findings) -> String {
    let state = findings.example_state();
    let ranges = findings.profile.ranges();
    let mut text = String::from("<div class=\"panel\" role=\"group\" aria-label=\"The state\">");
    if let Some(plant) = findings.system.plant() {
        let [width, height] = DRAWING;
        let _ = write!(
            text,
            "<svg id=\"live-plant\" class=\"plant\" viewBox=\"0 0 {width} {height}\" role=\"img\" aria-label=\"The \
             plant in this state\">{}</svg>",
            drawing(plant, &ranges, state)
        );
    }
    text.push_str("<p class=\"actions\" aria-live=\"polite\">");
    for (index, action) in findings.policy.actions.iter().enumerate() {
        let _ = write!(
            text,
            "<span class=\"action\">{} <output id=\"action-{index}\">{}</output></span>",
            name(&action.name),
            measure(action.act(&findings.policy.states, state), &action.unit)
        );
    }
    text.push_str(
        "</p><label class=\"pick\">State <select id=\"instructive\"><option value=\"\">as the sliders say</option>",
    );
    let mut group = "";
    for (index, one) in findings.instructive.iter().enumerate() {
        if one.group != group {
            if !group.is_empty() {
                text.push_str("</optgroup>");
            }
            group = one.group;
            let _ = write!(text, "<optgroup label=\"{}\">", escape(group));
        }
        let selected = if index == findings.example { " selected" } else { "" };
        let _ = write!(text, "<option value=\"{index}\"{selected}>{}</option>", escape(&one.name));
    }
    text.push_str("</optgroup></select></label><div class=\"sliders\">");
    for (index, (variable, [low, high])) in findings.system.states().iter().zip(&ranges).enumerate() {
        let unit = if variable.unit.is_empty() {
            String::new()
        } else {
            format!(" <span class=\"unit\">{}</span>", escape(&variable.unit))
        };
        // What only the world looks at follows what it is a lag of, and needs no slider to be seen.
        let seen = findings.policy.states.get(index);
        let hidden = if seen.is_some() { "" } else { " hidden style=\"display:none\"" };
        let label = name(&variable.name);
        let value: f64 = format!("{:.3e}", state[index]).parse().unwrap_or(state[index]);
        if !variable.values().is_empty() {
            let _ = write!(
                text,
                "<div class=\"slider mode-choice\"{hidden}><label for=\"slider-{index}\">{label}</label>\
                 <select id=\"slider-{index}\">{}</select></div>",
                mode_options(variable.values(), value)
            );
            continue;
        }
        // An error follows from the state and its set-point, which have sliders.
        if seen.is_some_and(|quantity| matches!(quantity.derived, Some(Derived::Error { .. }))) {
            let _ = write!(
                text,
                "<div class=\"slider follows\"{hidden}><label for=\"number-{index}\">{label}{unit}</label><output \
                 id=\"number-{index}\">{}</output></div>",
                measure(value, "")
            );
            continue;
        }
        let step = (high - low) / 1000.0;
        let _ = write!(
            text,
            "<div class=\"slider\"{hidden}><label for=\"slider-{index}\">{label}{unit}</label>\
             <input type=\"number\" id=\"number-{index}\" aria-label=\"{} as a number\" step=\"any\" value=\"{value}\">\
             <input type=\"range\" id=\"slider-{index}\" min=\"{low}\" max=\"{high}\" step=\"{step}\" \
             value=\"{value}\"></div>",
            escape(&variable.name),
        );
    }
    text.push_str("</div></div>");
    text
}

/// The words of a mode as a choice.
fn mode_options(words: &[String], value: f64) -> String {
    let option = |(index, word): (usize, &String)| {
        let selected = if index as f64 == value { " selected" } else { "" };
        format!("<option value=\"{index}\"{selected}>{}</option>", escape(word))
    };
    words.iter().enumerate().map(option).collect()
}

/// The pictures of an action's rules, a row each.
fn rule_rows(findings: &Findings, number_of_action: usize) -> String {
    let Findings { policy, simple, profile, .. } = findings;
    let action = &policy.actions[number_of_action];
    let state = findings.example_state();
    let ranges = profile.ranges();
    let shares = action.shares(&policy.states, state);
    let [width, height] = CELL;
    let svg = |class: &str, label: &str, inside: &str| {
        format!(
            "<svg class=\"{class}\" viewBox=\"0 0 {width} {height}\" role=\"img\" aria-label=\"{label}\">{inside}</svg>"
        )
    };
    let inputs = shown_inputs(policy);
    let many = if inputs.len() > 5 { " many" } else { "" };
    let mut text = format!(
        "<div class=\"rules-of{many}\" data-action=\"{number_of_action}\" style=\"--inputs:{}\">",
        inputs.len()
    );
    if policy.actions.len() > 1 {
        let _ = write!(text, "<h3>{}</h3>", name(&action.name));
    }
    for (index, rule) in action.rules.iter().enumerate() {
        let _ = write!(
            text,
            "<article class=\"rule\" data-rule=\"{index}\"><header><h4>Rule {}</h4>\
             <p class=\"say\"><span class=\"meter\"><span class=\"fill\"></span></span>has <output>{:.0} %</output> \
             of the say</p></header><div class=\"cells\">",
            index + 1,
            100.0 * shares[index]
        );
        if let Some(plant) = findings.system.plant() {
            let [width, height] = DRAWING;
            let _ = write!(
                text,
                "<figure class=\"prototype\"><svg class=\"plant\" viewBox=\"0 0 {width} {height}\" role=\"img\" \
                 aria-label=\"The plant at the centre of rule {}\">{}</svg>\
                 <figcaption>at its centre</figcaption></figure>",
                index + 1,
                drawing(plant, &ranges, &rule.centre)
            );
        }
        for &variable in &inputs {
            let (quantity, input) = (&policy.states[variable], &profile.inputs[variable]);
            let ignored = simple.policy.actions[number_of_action].rules[index].ignores(variable);
            let absent = rule.ignores(variable);
            let words = escape(&minus(&condition_words(quantity, rule, variable)));
            let drawn = match quantity.values.is_empty() {
                false => mode_cell(input, quantity, rule, variable, state[variable]),
                true => {
                    let id = format!("c{number_of_action}-{index}-{variable}");
                    let behind = format!("<use href=\"#log-{variable}\"/>");
                    membership_cell(&id, &behind, input.range, quantity, rule, variable, state[variable])
                }
            };
            let _ = write!(
                text,
                "<figure class=\"cell{}\" data-variable=\"{variable}\"><figcaption>{}</figcaption>{}<p \
                 class=\"condition\">{words}{}</p></figure>",
                if ignored { " ignored" } else { "" },
                name(&quantity.name),
                svg(
                    if quantity.values.is_empty() { "membership" } else { "modes" },
                    &format!("Reach of rule {} over {}: {words}", index + 1, escape(&quantity.name)),
                    &drawn
                ),
                if ignored && !absent { "<br><span class=\"remark\">does not matter</span>" } else { "" },
            );
        }
        let wanted = measure(noticeable(action.alone(index), action.limits), &action.unit);
        let _ = write!(
            text,
            "<figure class=\"cell output\"><figcaption>\u{2192} {}</figcaption>{}<p class=\"condition\">wants \
             {wanted}</p></figure></div></article>",
            name(&action.name),
            svg("wish", &format!("Rule {} wants {wanted}", index + 1), &output_cell(action, index, shares[index])),
        );
    }
    let _ = write!(
        text,
        "<article class=\"rule together\"><div><h4>Together</h4><p class=\"spoken\">{}</p></div>\
         <figure class=\"cell output\"><figcaption>\u{2192} {}</figcaption>{}\
         <p class=\"condition\"><output>{}</output></p></figure></article></div>",
        spoken(action, &shares),
        name(&action.name),
        svg("sum", "The action that the rules agree on", &combined_cell(policy, action, state)),
        measure(action.act(&policy.states, state), &action.unit)
    );
    text
}

/// Who has the say, in words; `web/page.js` says the same of other states.
fn spoken(action: &ActionRules, shares: &[f64]) -> String {
    let mut order: Vec<usize> = (0..shares.len()).collect();
    order.sort_by(|a, b| shares[*b].total_cmp(&shares[*a]));
    let parts: Vec<String> = order
        .iter()
        .take(3)
        .map(|&rule| {
            let percent = (100.0 * shares[rule]).round();
            format!(
                "rule {} has {percent} % of the say and wants {}",
                rule + 1,
                measure(noticeable(action.alone(rule), action.limits), &action.unit)
            )
        })
        .collect();
    format!("In this state {}.", parts.join("; "))
}

/// The player.
pub(super) fn watch(findings: &Findings) -> String {
    let live = findings.world.networks.is_some();
    let mut options = String::new();
    for (index, one) in findings.instructive.iter().enumerate() {
        if one.trajectory.is_some() {
            let _ = write!(options, "<option value=\"{index}\">{}</option>", escape(&one.name));
        }
    }
    if live {
        options.push_str("<option value=\"live\">the state of the sliders</option>");
    }
    let plant = findings.system.plant().map_or_else(String::new, |plant| {
        let [width, height] = DRAWING;
        format!(
            "<svg id=\"stage\" class=\"plant\" viewBox=\"0 0 {width} {height}\" role=\"img\" aria-label=\"The plant \
             in motion\">{}</svg>",
            drawing(plant, &findings.profile.ranges(), findings.example_state())
        )
    });
    let truth = if findings.system.plant().is_some() { " The dashed line is the true plant." } else { "" };
    format!(
        "<h2 id=\"watch-title\">In motion</h2>\
         <p>What happens on the world model from a start on, step by step, and which rule has the say.{truth} The \
         pictures above follow.</p>\
         <div class=\"player\"><div class=\"controls\" role=\"group\" aria-label=\"Player\">\
         <label class=\"pick\">From <select id=\"start\">{options}</select></label>\
         <div class=\"buttons\"><button type=\"button\" id=\"back\" aria-label=\"One step back\">\u{2039}</button>\
         <button type=\"button\" id=\"play\">Play</button>\
         <button type=\"button\" id=\"forward\" aria-label=\"One step forward\">\u{203a}</button></div>\
         <label class=\"pick speed\">Speed <select id=\"speed\"><option value=\"0.25\">\u{00bc}</option><option \
         value=\"1\" selected>1</option><option value=\"4\">4</option></select></label></div>\
         <label class=\"scrub\">Step <span id=\"step-shown\">0</span><input type=\"range\" id=\"step\" min=\"0\" \
         max=\"0\" value=\"0\" step=\"1\"></label>\
         {plant}<p id=\"outcome\" class=\"quiet\" aria-live=\"polite\"></p>\
         <div id=\"tracks\" class=\"tracks\"></div></div>"
    )
}

/// Inputs that the action can be drawn over: a mode has no range, and what rules see as an error only changes nothing.
fn axes(policy: &FuzzyPolicy) -> Vec<usize> {
    let quantities: Vec<usize> =
        shown_inputs(policy).into_iter().filter(|&variable| policy.states[variable].values.is_empty()).collect();
    if quantities.is_empty() { (0..policy.states.len()).collect() } else { quantities }
}

/// The control surface.
pub(super) fn surface(findings: &Findings) -> String {
    let axes = axes(&findings.policy);
    let options = |chosen: usize| -> String {
        axes.iter()
            .map(|&index| {
                let selected = if index == chosen { " selected" } else { "" };
                format!("<option value=\"{index}\"{selected}>{}</option>", escape(&findings.policy.states[index].name))
            })
            .collect()
    };
    let actions: String = findings
        .policy
        .actions
        .iter()
        .enumerate()
        .map(|(index, action)| format!("<option value=\"{index}\">{}</option>", escape(&action.name)))
        .collect();
    let unused = unused_inputs(&findings.policy);
    let states = findings.system.policy_states();
    let used = |v: &usize| !unused.contains(&states[*v].name.as_str());
    let free = |v: &usize| used(v) && (states[*v].start[1] > states[*v].start[0] || states[*v].is_derived());
    let free: Vec<usize> = axes.iter().copied().filter(free).collect();
    let (first, second) = match (&free[..], &axes[..]) {
        ([first, second, ..], _) | (_, [first, second, ..]) => (*first, *second),
        (_, [only]) => (*only, *only),
        _ => (0, 0),
    };
    format!(
        "<h2 id=\"surface-title\">Control surface</h2>\
         <p>The action over two inputs, the others as the sliders say. Dots are logged states, the thick line is \
         where the action \
         is in the middle of its limits, the thin line is the trajectory above, crosses are weak starts, the ring is \
         the state.</p>\
         <div class=\"controls\" role=\"group\" aria-label=\"Axes\"><label class=\"pick\">Action <select \
         id=\"surface-action\">{actions}</select></label>\
         <label class=\"pick\">Across <select id=\"surface-x\">{}</select></label>\
         <label class=\"pick\">Up <select id=\"surface-y\">{}</select></label></div>\
         <figure class=\"surface\"><canvas id=\"surface-map\" width=\"560\" height=\"440\" role=\"img\" \
         aria-label=\"Map of the action over two inputs\"></canvas>\
         <figcaption id=\"surface-caption\" class=\"quiet\"></figcaption></figure>",
        options(first),
        options(second),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use fpsrl_engine::policy::{ANYWHERE, MODE_WIDTH, Quantity};

    fn policy(reach: f64) -> FuzzyPolicy {
        let mode = Quantity { values: vec!["COMFORT".into(), "<ECO>".into()], ..Quantity::new("Mode", "") };
        FuzzyPolicy {
            states: vec![Quantity::new("x", "m"), mode],
            mirrored: false,
            actions: vec![ActionRules {
                name: "OUT".into(),
                unit: "%".into(),
                limits: [0.0, 100.0],
                rate: None,
                reach,
                alpha: 20.0,
                rules: vec![Rule { centre: vec![1.0, 1.0], width: vec![0.5, MODE_WIDTH], output: 1.0 }],
            }],
        }
    }

    #[test]
    fn a_mode_stands_before_the_conditions_and_is_only_text() {
        let policy = policy(1.0);
        let action = &policy.actions[0];
        let mut rule = action.rules[0].clone();
        let said = sentence(&policy, action, 0, &rule);
        assert!(said.starts_with("<b>In</b> <bdi>&lt;ECO&gt;</bdi>: <b>if</b> <bdi>x</bdi> is around"), "{said}");
        rule.width[0] = ANYWHERE;
        assert!(sentence(&policy, action, 0, &rule).starts_with("<b>In</b> <bdi>&lt;ECO&gt;</bdi>: <bdi>OUT</bdi>"));
        rule.width[1] = ANYWHERE;
        assert!(sentence(&policy, action, 0, &rule).starts_with("<b>Always</b>"));
        assert_eq!(axes(&policy), [0], "a mode is no axis");
    }

    #[test]
    fn a_reach_beyond_the_limits_is_told() {
        assert_eq!(cut_off(&policy(1.0).actions[0]), "");
        assert!(cut_off(&policy(3.0).actions[0]).contains("cut off at 0 and 100 %"));
    }
}
