//! What the page's script needs of a run, as JSON that can stand in a page.

use serde::Serialize;

use super::findings::Findings;
use super::world::PageWorld;
use fpsrl_base::error::{Error, Result};
use fpsrl_data::system::Lagged;
use fpsrl_engine::policy::FuzzyPolicy;
use fpsrl_explain::Trajectory;

#[derive(Serialize)]
struct Payload<'a> {
    plant: Option<&'static str>,
    states: Vec<PageState<'a>>,
    policy: &'a FuzzyPolicy,
    horizon: usize,
    discount: f64,
    world: Option<&'a PageWorld>,
    sample: Vec<Vec<f64>>,
    instructive: Vec<PageStart<'a>>,
    /// Which of them the page begins with.
    example: usize,
    /// Weak starts, for the map.
    weak: Vec<Vec<f64>>,
}

#[derive(Serialize)]
struct PageState<'a> {
    name: &'a str,
    unit: &'a str,
    angle: bool,
    /// Whether it is the past of a state variable or an action.
    memory: bool,
    /// Of what was a state variable some steps ago: the number of that variable.
    of: Option<usize>,
    /// The words of a mode; empty for a quantity.
    values: &'a [String],
    range: [f64; 2],
}

#[derive(Serialize)]
struct PageStart<'a> {
    name: &'a str,
    group: &'static str,
    state: Vec<f64>,
    trajectory: Option<PageTrajectory>,
    truth: Option<PageTrajectory>,
}

#[derive(Serialize)]
struct PageTrajectory {
    states: Vec<Vec<f64>>,
    actions: Vec<Vec<f64>>,
    absorbed: bool,
    value: f64,
}

/// The data of the page, with nothing in it that could end the element it stands in.
pub(super) fn payload(findings: &Findings) -> Result<String> {
    let payload = Payload {
        plant: findings.system.plant().map(|plant| plant.name()),
        states: findings
            .system
            .states()
            .iter()
            .zip(&findings.profile.inputs)
            .map(|(state, input)| PageState {
                name: &state.name,
                unit: &state.unit,
                angle: state.angle,
                memory: state.lag.is_some(),
                of: state.lag.and_then(|lag| match lag.of {
                    Lagged::State(of) => Some(of),
                    Lagged::Action(_) | Lagged::Error(_) | Lagged::Sum(_) | Lagged::Place => None,
                }),
                values: state.values(),
                range: input.range,
            })
            .collect(),
        policy: &findings.policy,
        horizon: findings.system.horizon(),
        discount: findings.system.discount(),
        world: findings.world.networks.as_ref(),
        sample: rows(&findings.sample),
        instructive: findings
            .instructive
            .iter()
            .map(|one| PageStart {
                name: &one.name,
                group: one.group,
                state: one.state.clone(),
                trajectory: one.trajectory.as_ref().map(|trajectory| page_trajectory(trajectory, true)),
                truth: one.truth.as_ref().map(|trajectory| page_trajectory(trajectory, false)),
            })
            .collect(),
        example: findings.example,
        weak: findings.weaknesses.starts.iter().map(|start| start.state.clone()).collect(),
    };
    let text = serde_json::to_string(&payload).map_err(|_| Error::Internal("the page's data has no form in JSON"))?;
    Ok(harmless(&text))
}

/// JSON in which no text can be taken for markup.
fn harmless(json: &str) -> String {
    json.replace('<', "\\u003c").replace('>', "\\u003e").replace('\u{2028}', "\\u2028").replace('\u{2029}', "\\u2029")
}

fn page_trajectory(trajectory: &Trajectory, actions: bool) -> PageTrajectory {
    PageTrajectory {
        states: rows(&trajectory.states),
        actions: if actions { rows(&trajectory.actions) } else { Vec::new() },
        absorbed: trajectory.absorbed,
        value: trajectory.value,
    }
}

/// Numbers that are only looked at, with four digits; NaN is null.
fn rows(rows: &[Vec<f64>]) -> Vec<Vec<f64>> {
    let short = |value: &f64| format!("{value:.3e}").parse().unwrap_or(*value);
    rows.iter().map(|row| row.iter().map(short).collect()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_in_a_page_means_the_same_and_ends_nothing() {
        let names = ["</script><script>alert(1)</script>", "<!--", "\u{2028}\"'\\", "]]>", "مضخة"];
        let text = harmless(&serde_json::to_string(&names).unwrap());
        assert!(!text.contains('<') && !text.contains('>') && !text.contains('\u{2028}'));
        let back: Vec<String> = serde_json::from_str(&text).unwrap();
        assert_eq!(back, names);
    }
}
