//! Signs of trouble: figures of one run that do not fit each other, named with what to do about it.
//!
//! A search that scores a policy otherwise than its test does has optimised something else than what is tested: steps outside of
//! the log that caution takes off, or its own start states. And rules that earn more without some of their conditions have not
//! been searched to their end.

use crate::figures::Summary;
use fpsrl_base::text::number;

/// A difference of this share of the gain is a sign.
const MUCH: f64 = 0.2;

/// Simpler rules that earn this share of the gain more are one.
const BETTER: f64 = 0.05;

/// Steps outside of the log's ranges that explain why caution lowers a score, as a share.
const OUTSIDE: f64 = 0.01;

/// The signs of trouble that a run's figures show; none if they fit each other.
pub fn signs(summary: &Summary) -> Vec<String> {
    let mut signs = Vec::new();
    let (Some(test), Some(promise), Some(gain)) = (summary.model_return, &summary.promise, &summary.gain) else {
        return signs;
    };
    let scale = gain.gain.abs();
    // What chance does to start states is no sign.
    let chance = 0.5 * (promise.interval[1] - promise.interval[0]);
    if let Some(search) = summary.search_return.filter(|search| (search - test).abs() > (MUCH * scale).max(chance)) {
        let scores = format!("the search scored the rules {}, their test {}", number(search), number(test));
        signs.push(match search < test {
            true if promise.outside > OUTSIDE => format!(
                "{scores}: caution took the difference off, because {:.0} % of the steps leave the log's ranges; compare with \
                 `search.caution = 0`, or record rows there",
                100.0 * promise.outside
            ),
            true => format!("{scores}: it searched from harder start states; give it more of them (`search.start_states`)"),
            false => format!("{scores}: it leans on its own start states; give it more of them (`search.start_states`)"),
        });
    }
    if let Some(simple) = &summary.simple
        && simple.removed > 0
        && simple.model_return > test + (BETTER * scale).max(1e-9)
    {
        signs.push(format!(
            "the rules earn more without {} of their conditions, {} instead of {}: the search has not come to its end; give it \
             more effort, or take `policy.simple.json`",
            simple.removed,
            number(simple.model_return),
            number(test)
        ));
    }
    if let Some(behaviour) = summary.behaviour.as_ref().filter(|known| known.cloned_return > test + MUCH * scale) {
        signs.push(format!(
            "rules that only imitate the log earn more, {} instead of {}: the search has not come to its end, or caution holds \
             it back",
            number(behaviour.cloned_return),
            number(test)
        ));
    }
    signs
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::figures::SimpleFigures;
    use crate::gain::Gain;
    use crate::promise::Promise;
    use crate::{PolicySettings, SearchSettings};
    use fpsrl_data::System;

    /// A run that searched, tested and promised this, with so large a share of steps outside.
    fn run(search: f64, test: f64, outside: f64) -> Summary {
        let system = System::benchmark("mountain-car").unwrap();
        let policy = PolicySettings::for_plant(system.plant());
        let mut summary = Summary::new(&system, &policy, &SearchSettings::default(), 100, String::new());
        let told = |text: &str| serde_json::from_str::<serde_json::Value>(text).unwrap();
        let promise = told(
            r#"{"return": -28, "interval": [-29, -27], "rescored": null, "judge_interval": null, "holds": null, "outside": 0,
                "rejected": 0, "member_returns": [-28]}"#,
        );
        let gain = told(
            r#"{"today": -90, "today_is": "log", "starts": 100, "policy": -28, "gain": 62, "interval": [61, 63],
                "by_the_judge": null, "pi": null, "pi_controller": null, "p": null, "figures": null, "figures_today": null,
                "figures_pi": null}"#,
        );
        summary.promise = Some(Promise { outside, ..serde_json::from_value(promise).unwrap() });
        summary.gain = Some(serde_json::from_value::<Gain>(gain).unwrap());
        (summary.search_return, summary.model_return) = (Some(search), Some(test));
        summary
    }

    #[test]
    fn figures_that_fit_are_no_sign_and_others_are_named_with_a_remedy() {
        assert_eq!(signs(&run(-28.3, -28.0, 0.3)), Vec::<String>::new());
        let told = |search: f64, test: f64, outside: f64| signs(&run(search, test, outside)).join(" ");
        assert!(
            told(-73.0, -28.0, 0.3).contains("scored the rules -73, their test -28: caution took the difference off")
        );
        assert!(told(-73.0, -28.0, 0.0).contains("harder start states"));
        assert!(told(-28.0, -73.0, 0.3).contains("leans on its own start states"));
    }

    #[test]
    fn simpler_rules_that_earn_more_are_a_sign() {
        let mut summary = run(-28.0, -28.0, 0.0);
        let simple = |model_return: f64| SimpleFigures {
            conditions: 8,
            removed: 3,
            tolerance: 1.0,
            model_return,
            true_return: None,
            price: 0.0,
        };
        summary.simple = Some(simple(-29.0));
        assert!(signs(&summary).is_empty());
        summary.simple = Some(simple(-20.0));
        assert!(signs(&summary).join(" ").contains("earn more without 3 of their conditions, -20 instead of -28"));
    }
}
