//! A policy from elsewhere in a run directory: scored like one that was found, and where a search can begin.

use super::directory::RunDirectory;
use super::graph::{POLICY, PROBLEM, START, SUMMARY};
use crate::error::{Error, Result};
use crate::files;
use crate::policy::{FuzzyPolicy, RuleSpace};
use crate::problem::{OrAuto, Problem, WrittenProblem};
use crate::progress::Progress;
use crate::stage::fitted;

impl RunDirectory {
    /// Takes a policy over as the run's policy, and as the place where its searches begin (`start.json`). The
    /// variables are matched by their names; units are the problem's. How its rules measure angles stays as it is, so that
    /// it is scored as what it was; [`RunDirectory::measured_otherwise`] says where a search will differ.
    pub fn adopt(&self, policy: &FuzzyPolicy, progress: &Progress) -> Result<FuzzyPolicy> {
        let problem = self.problem()?;
        let policy = fitted(policy, &problem.system, &self.file(PROBLEM))?;
        let mut prepared =
            vec![files::prepare_json(&self.file(START), &policy)?, files::prepare_json(&self.file(POLICY), &policy)?];
        if let Some(mut summary) = self.earlier_summary()? {
            summary.rules = policy.rule_count();
            summary.forget_policy();
            prepared.push(summary.prepare(&self.file(SUMMARY))?);
        }
        self.invalidate(POLICY, progress)?;
        // A search that was interrupted began elsewhere.
        self.forget_search()?;
        files::commit_all(prepared)?;
        Ok(policy)
    }

    /// Makes a policy the place where searches begin (`start.json`). The run's own policy stays as it is.
    pub(super) fn begin_with(&self, policy: &FuzzyPolicy) -> Result<()> {
        let prepared = files::prepare_json(&self.file(START), policy)?;
        // A search that was interrupted began elsewhere.
        self.forget_search()?;
        prepared.commit()
    }

    /// The problem of a search that begins with a policy: with as many rules as that has, whatever number they once grew from.
    /// Rules of another form, such as an expert's, cannot be moved in the problem's: then the search begins anew.
    pub(super) fn searched_alike<'a>(
        &self,
        policy: &'a FuzzyPolicy,
        change: impl Fn(&mut WrittenProblem),
    ) -> Result<(Problem, Option<&'a FuzzyPolicy>)> {
        let alike = self.problem_with(|written| {
            change(written);
            written.policy.rules = Some(OrAuto::Count(policy.rule_count() as u64));
            written.policy.front = Some(false);
        });
        let fits = |problem: &Problem| -> Result<bool> {
            let space = RuleSpace::new(&problem.system, &problem.policy, &self.transitions(problem)?);
            Ok(space.encode(policy).is_some())
        };
        match alike {
            Ok(problem) if fits(&problem)? => Ok((problem, Some(policy))),
            // That the problem cannot be read says nothing of its rules.
            Err(error @ Error::Read { .. }) => Err(error),
            _ => Ok((self.problem_with(change)?, None)),
        }
    }

    /// The angles that a policy measures around the circle where the problem's rules do not, or the other way round. A search
    /// that begins with it takes its numbers in the problem's form.
    pub fn measured_otherwise(&self, policy: &FuzzyPolicy) -> Result<Vec<String>> {
        let problem = self.problem()?;
        let states = problem.system.policy_states().iter().zip(&policy.states);
        let differ = states.filter(|(state, quantity)| problem.policy.is_periodic(state) != quantity.periodic);
        Ok(differ.map(|(state, _)| state.name.clone()).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::{ActionRules, Quantity, Rule};

    fn expert() -> FuzzyPolicy {
        let rule = |velocity: f64, output: f64| Rule { centre: vec![velocity, -0.3], width: vec![0.5, 0.9], output };
        FuzzyPolicy {
            states: ["velocity", "position"].map(|name| Quantity::new(name, "")).to_vec(),
            mirrored: false,
            actions: vec![ActionRules {
                name: "force".into(),
                unit: String::new(),
                limits: [-1.0, 1.0],
                rate: None,
                reach: 1.0,
                alpha: 5.0,
                rules: vec![rule(0.4, 1.0), rule(-0.4, -1.0)],
            }],
        }
    }

    #[test]
    fn a_policy_from_elsewhere_takes_the_problems_order_and_units_and_starts_the_search() {
        let parent = tempfile::tempdir().unwrap();
        let mut written = WrittenProblem::benchmark("mountain-car").unwrap();
        written.data.samples = Some(400);
        let problem = written.check().unwrap();
        let run = crate::run::generate(&problem, &parent.path().join("run"), false, &Progress::silent()).unwrap();
        let adopted = run.adopt(&expert(), &Progress::silent()).unwrap();
        assert_eq!(adopted, run.policy(&problem).unwrap());
        assert_eq!(adopted.states[0].name, "position");
        assert_eq!(adopted.states[1].unit, "m/s");
        assert_eq!(adopted.act(&[0.1, 0.2]), expert().act(&[0.2, 0.1]));

        let space = RuleSpace::new(&problem.system, &problem.policy, &run.transitions(&problem).unwrap());
        let position = space.encode(&run.start_policy(&problem).unwrap().unwrap()).unwrap();
        assert_eq!(space.decode(&position), adopted);
        let mut other = expert();
        other.states[0].name = "speed".into();
        assert!(run.adopt(&other, &Progress::silent()).unwrap_err().to_string().contains("velocity"));
        let mut other = expert();
        other.actions[0].limits = [-2.0, 2.0];
        assert!(run.adopt(&other, &Progress::silent()).unwrap_err().to_string().contains("limits"));
    }

    #[test]
    fn a_plain_policy_stays_plain_and_it_is_said_that_a_search_is_not() {
        let parent = tempfile::tempdir().unwrap();
        let mut written = WrittenProblem::benchmark("cart-pole-balancing").unwrap();
        written.data.samples = Some(400);
        let problem = written.check().unwrap();
        let run = crate::run::generate(&problem, &parent.path().join("run"), false, &Progress::silent()).unwrap();
        let rule = Rule { centre: vec![3.0, 0.0, 0.0, 0.0], width: vec![0.5; 4], output: 1.0 };
        let plain = FuzzyPolicy {
            states: ["theta", "theta_dot", "rho", "rho_dot"].map(|name| Quantity::new(name, "")).to_vec(),
            mirrored: true,
            actions: vec![ActionRules {
                name: "force".into(),
                unit: "N".into(),
                limits: [-10.0, 10.0],
                rate: None,
                reach: 1.0,
                alpha: 1.0,
                rules: vec![rule.clone(), rule.mirror()],
            }],
        };
        let adopted = run.adopt(&plain, &Progress::silent()).unwrap();
        assert!(!adopted.states[0].periodic && !run.policy(&problem).unwrap().states[0].periodic);
        assert_eq!(run.measured_otherwise(&adopted).unwrap(), ["theta"]);
        let space = RuleSpace::new(&problem.system, &problem.policy, &run.transitions(&problem).unwrap());
        let start = space.encode(&run.start_policy(&problem).unwrap().unwrap()).unwrap();
        let start = space.decode(&start);
        assert!(start.states[0].periodic);
        assert_eq!(run.measured_otherwise(&start).unwrap(), Vec::<String>::new());
    }
}
