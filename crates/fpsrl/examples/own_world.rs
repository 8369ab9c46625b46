//! A simulator of one's own as a world: rules are searched on it as on a learned one.
//!
//!     cargo run --release --example own_world                              a tank, written in Rust
//!     cargo run --release --example own_world -- python3 simulator.py      a process that speaks lines of JSON
//!
//! The world is a tank whose level is to be kept at 1 m by a valve; a leak works against it.

use fpsrl::data::Transitions;
use fpsrl::explain;
use fpsrl::problem::{Problem, WrittenProblem};
use fpsrl::progress::Progress;
use fpsrl::rollout::{Columns, Lanes};
use fpsrl::search::race::Race;
use fpsrl::search::{Search, SearchOptions, methods};
use fpsrl::simd::Numerics;
use fpsrl::world::Simulator;
use fpsrl::world::World;
use fpsrl::world::process::{Permission, ProcessWorld};

const PROBLEM: &str = r#"
name = "tank"
horizon = 50
[[state]]
name = "level"
unit = "m"
start = [0.0, 2.0]
centre = [0.0, 2.0]
width = [0.05, 2.0]
[[action]]
name = "valve"
limits = [0.0, 1.0]
[search]
budget = "20 Msteps"
start_states = 40
"#;

/// The tank: 0.2 m flows in through an open valve in each step, and a tenth of what is there leaks out.
struct Tank;

impl World for Tank {
    fn state_count(&self) -> usize {
        1
    }

    fn action_count(&self) -> usize {
        1
    }

    fn advance(&self, lanes: &mut Lanes, _: Numerics) {
        let Columns { live, states, actions, rewards, absorbed, .. } = lanes.columns();
        for lane in 0..live {
            states[lane] += 0.2 * actions[lane] - 0.1 * states[lane];
            rewards[lane] = -(states[lane] - 1.0).abs();
            absorbed[lane] = 0.0;
        }
    }

    fn largest_reward(&self) -> f64 {
        0.0
    }
}

fn search(problem: &Problem, world: &dyn World) -> fpsrl::Result<()> {
    // With bounds for centres and widths in the problem, no log is needed.
    let space = methods::space(&problem.system, &problem.policy, &problem.search, &Transitions::new(1, 1));
    let options = SearchOptions::of(&problem.search, true);
    let mut search = Search::<Race, _>::begin(&problem.system, &problem.search, &space, vec![world], options);
    search.run(&Progress::silent(), |_| Ok(()))?;
    let (policy, fitness) = search.best();
    println!("mean return {fitness:.3}");
    explain::sentences(&policy).iter().for_each(|sentence| println!("{sentence}"));
    Ok(())
}

fn main() -> fpsrl::Result<()> {
    let problem = WrittenProblem::parse(PROBLEM, "tank.toml".as_ref())?.check()?;
    let command: Vec<String> = std::env::args().skip(1).collect();
    if command.is_empty() {
        return search(&problem, &Tank);
    }
    // Whoever gives a command to this example asks for it.
    let world = ProcessWorld::start(&command, &["level".to_owned()], &["valve".to_owned()], Permission::Allowed)?;
    search(&problem, &world)?;
    world.check()
}
