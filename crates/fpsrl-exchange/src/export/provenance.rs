//! Where a controller comes from: what stands at the head of each export.

use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use fpsrl_base::disk;
use fpsrl_base::error::Result;
use fpsrl_base::files;
use fpsrl_base::text::number;

/// Where a controller comes from. What is not known is left out.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Provenance {
    /// The version of fpsrl that exported it.
    pub version: String,
    /// The digest of `policy.json`.
    pub policy_sha256: String,
    /// The day on which `policy.json` was written, in UTC.
    pub date: Option<String>,
    /// The problem's name.
    pub problem: Option<String>,
    /// The run's seed.
    pub seed: Option<u64>,
    /// The digest of the log.
    pub data_sha256: Option<String>,
    /// The digest of the world model.
    pub world_sha256: Option<String>,
    /// What the run promises of the policy, with its interval, as a sentence.
    pub promise: Option<String>,
    /// What a judge says of it that has seen other episodes, with its interval, as a sentence.
    pub judge: Option<String>,
    /// Whether the run advises to use it, as a sentence.
    pub verdict: Option<String>,
}

impl Provenance {
    /// Of a policy with this digest, and of the figures of its run if they are known, as `summary.json` holds them.
    pub fn new(policy_sha256: String, summary: Option<&Value>) -> Self {
        let version = env!("CARGO_PKG_VERSION").to_owned();
        let mut provenance = Self { version, policy_sha256, ..Self::default() };
        // Fields of later versions may be missing or new: only those that are known and there are told.
        if let Some(summary) = summary {
            provenance.problem = summary["problem"].as_str().map(str::to_owned);
            // The seed of a run says nothing of rules that were edited, or brought to it from elsewhere.
            let searched = !summary.get("search_return").is_some_and(Value::is_null);
            provenance.seed = summary["seed"].as_u64().filter(|_| searched);
            provenance.data_sha256 = summary["data_sha256"].as_str().map(str::to_owned);
            provenance.world_sha256 = summary["world_sha256"].as_str().map(str::to_owned);
            provenance.promise = promise(summary);
            provenance.judge = told(&summary["promise"], ["rescored", "judge_interval"]);
            provenance.verdict = verdict(summary);
        }
        provenance
    }

    /// Of a policy's file, and of the figures of its run if they are known.
    pub fn of_file(policy: &Path, summary: Option<&Value>) -> Result<Self> {
        let date = disk::modified(policy).ok().and_then(date);
        Ok(Self { date, ..Self::new(files::sha256(policy)?, summary) })
    }

    /// The lines of a comment.
    pub fn lines(&self) -> Vec<String> {
        let mut lines = vec![format!("policy    sha256 {}", self.policy_sha256)];
        let mut tell = |what: &str, text: Option<String>| lines.extend(text.map(|text| format!("{what:<9} {text}")));
        tell("date", self.date.clone());
        tell("problem", self.problem.clone());
        tell("seed", self.seed.map(|seed| seed.to_string()));
        tell("log", self.data_sha256.as_ref().map(|digest| format!("sha256 {digest}")));
        tell("world", self.world_sha256.as_ref().map(|digest| format!("sha256 {digest}")));
        tell("promise", self.promise.clone());
        tell("judge", self.judge.clone());
        tell("verdict", self.verdict.clone());
        lines
    }
}

fn promise(summary: &Value) -> Option<String> {
    let promise = &summary["promise"];
    if let Some(mut text) = told(promise, ["return", "interval"]) {
        if promise["holds"].as_bool() == Some(false) {
            text += "; it does not hold";
        }
        return Some(text);
    }
    let model = summary["model_return"].as_f64()?;
    let truth = summary["true_return"].as_f64();
    let truth = truth.map_or_else(String::new, |truth| format!(", {} on the true plant", number(truth)));
    Some(format!("return {} on the world model{truth}", number(model)))
}

/// A return and its interval, under these names.
fn told(promise: &Value, [mean, interval]: [&str; 2]) -> Option<String> {
    let mut text = format!("return {}", number(promise[mean].as_f64()?));
    if let (Some(low), Some(high)) = (promise[interval][0].as_f64(), promise[interval][1].as_f64()) {
        text += &format!(", from {} to {}", number(low), number(high));
    }
    Some(text)
}

fn verdict(summary: &Value) -> Option<String> {
    let verdict = &summary["verdict"];
    let word = verdict["word"].as_str()?;
    Some(verdict["reason"].as_str().map_or_else(|| word.to_owned(), |reason| format!("{word}: {reason}")))
}

/// The day of a time in UTC, as 2017-03-09.
fn date(time: SystemTime) -> Option<String> {
    let days = time.duration_since(UNIX_EPOCH).ok()?.as_secs() / 86_400;
    // Days of a calendar whose years begin in March, so that the leap day comes last.
    let day = days + 719_468;
    let era = day / 146_097;
    let of_era = day % 146_097;
    let year = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let month = (5 * of_year + 2) / 153;
    let of_month = of_year - (153 * month + 2) / 5 + 1;
    let (year, month) = (year + 400 * era, if month < 10 { month + 3 } else { month - 9 });
    Some(format!("{:04}-{month:02}-{of_month:02}", year + u64::from(month <= 2)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn days_are_those_of_the_calendar() {
        for (seconds, day) in [
            (0, "1970-01-01"),
            (951_782_400, "2000-02-29"),
            (1_489_017_600, "2017-03-09"),
            (4_107_542_399, "2100-02-28"),
            (4_107_542_400, "2100-03-01"),
        ] {
            assert_eq!(date(UNIX_EPOCH + Duration::from_secs(seconds)).unwrap(), day);
        }
    }

    #[test]
    fn a_summary_of_any_version_is_told_as_far_as_it_is_understood() {
        let directory = tempfile::tempdir().unwrap();
        let policy = directory.path().join("policy.json");
        std::fs::write(&policy, "abc").unwrap();
        let lines =
            |text: &str| Provenance::of_file(&policy, serde_json::from_str(text).ok().as_ref()).unwrap().lines();
        let plain = lines(r#"{"problem": "p", "seed": 7, "model_return": -42.06, "true_return": -42.0}"#);
        assert!(plain[0].starts_with("policy    sha256 ba7816bf"));
        assert!(plain.contains(&"seed      7".to_owned()), "{plain:?}");
        assert!(
            plain.contains(&"promise   return -42.1 on the world model, -42 on the true plant".to_owned()),
            "{plain:?}"
        );
        let promised = lines(
            r#"{"promise": {"return": -40.0, "interval": [-44, -38.5], "holds": false,
                            "rescored": -46.5, "judge_interval": [-49, -45]},
                "data_sha256": "0a", "world_sha256": "0b",
                "verdict": {"word": "careful", "reason": "thin data"}, "model_return": 1}"#,
        );
        assert!(
            promised.contains(&"promise   return -40, from -44 to -38.5; it does not hold".to_owned()),
            "{promised:?}"
        );
        for line in ["judge     return -46.5, from -49 to -45", "log       sha256 0a", "world     sha256 0b"] {
            assert!(promised.contains(&line.to_owned()), "{promised:?}");
        }
        assert!(promised.contains(&"verdict   careful: thin data".to_owned()), "{promised:?}");
        assert!(!lines(r#"{"seed": 7, "search_return": null}"#).contains(&"seed      7".to_owned()));
        assert_eq!(lines("null").len(), 2);
    }
}
