//! Problem files and sweeps.

use fpsrl::problem::WrittenProblem;
use fpsrl::sweep::{Sweep, WrittenSweep};

use super::{Target, Trouble};
use crate::input::Input;
use crate::place::Place;
use crate::seeds::{PROBLEM as COMPLETE, SIMULATED};

/// `problem.toml`: read, checked, written with every default, and read again.
pub(super) const PROBLEM: Target = Target {
    name: "problem",
    reads: "problem.toml",
    share: 10.0,
    short: 600,
    seeds: |_| {
        let mut all = vec![Input::new("problem.toml", COMPLETE), Input::new("sim.toml", SIMULATED)];
        for name in fpsrl::problem::benchmark_names() {
            all.push(Input::new(format!("{name}.toml"), fpsrl::Problem::benchmark(&name)?.to_toml()));
        }
        Ok(all)
    },
    run: problem,
};

fn problem(input: &Input, place: &mut Place) -> Result<(), Trouble> {
    // What is no text is refused by whoever reads the file; what is text needs no file.
    let written = match std::str::from_utf8(&input.bytes) {
        Ok(text) => WrittenProblem::parse(text, input.name.as_ref())?,
        Err(_) => WrittenProblem::read(&place.write(&input.name, &input.bytes)?)?,
    };
    let problem = written.check()?;
    let complete = problem.to_toml();
    let again = WrittenProblem::parse(&complete, "complete.toml".as_ref()).and_then(WrittenProblem::check);
    match again {
        Ok(again) if again == problem || again.to_toml() == complete => Ok(()),
        Ok(_) => Err(Trouble::Wrong("a problem that was written down reads back as another".into())),
        Err(error) => Err(Trouble::Wrong(format!("a problem that was written down is refused: {error}"))),
    }
}

/// `sweep.toml`: read, and every run that it asks for planned.
pub(super) const SWEEP: Target = Target {
    name: "sweep",
    reads: "sweep.toml",
    share: 5.0,
    short: 150,
    seeds: |_| {
        let lists = "problem = 'tank.toml'\nruns = 'runs'\nseeds = [1, 5]\nbootstrap = 2\nworkers = 2\n\
                     logs = ['log.csv', ['a.csv', 'b.csv']]\n[grid]\n'search.caution' = [0.0, 1.0]\n'state.level.keep' = [[0.0, 1.0]]\n\
                     [[run]]\nname = 'alone'\n'search.particles' = 20\n";
        let inner = "seeds = 2\n[problem]\nplant = 'mountain-car'\n[problem.search]\nparticles = 20\n[grid]\n'policy.rules' = [2, 4]\n";
        Ok(vec![Input::new("sweep.toml", lists), Input::new("inner.toml", inner)])
    },
    run: sweep,
};

fn sweep(input: &Input, place: &mut Place) -> Result<(), Trouble> {
    if !place.path().join("tank.toml").exists() {
        place.write("tank.toml", COMPLETE.as_bytes())?;
        ["log.csv", "a.csv", "b.csv", "more.csv"]
            .iter()
            .try_for_each(|log| place.write(log, b"t,level\n").map(drop))?;
    }
    let path = place.path().join(&input.name);
    let written = match std::str::from_utf8(&input.bytes) {
        Ok(text) => WrittenSweep::parse(text, &path)?,
        Err(_) => WrittenSweep::read(&place.write(&input.name, &input.bytes)?)?,
    };
    let sweep = Sweep::of(written, &path, &path)?;
    let names: std::collections::HashSet<&str> = sweep.runs().iter().map(|run| run.name.as_str()).collect();
    if names.len() != sweep.runs().len() {
        return Err(Trouble::Wrong("two runs have one name".into()));
    }
    match sweep.runs().iter().all(|run| sweep.place(run).starts_with(sweep.directory())) {
        true => Ok(()),
        false => Err(Trouble::Wrong("a run is outside of the sweep's directory".into())),
    }
}
