//! The whole method in a few lines of the library: log, worlds, search, judge, controller.
//!
//!     cargo run --release -p fpsrl --example whole_method -- mountain-car

use fpsrl::explain::sentences;
use fpsrl::export::{Format, Settings, Target};
use fpsrl::problem::Effort;
use fpsrl::{Log, Problem, Progress};

fn main() -> fpsrl::Result<()> {
    let name = std::env::args().nth(1).unwrap_or_else(|| "mountain-car".into());
    let mut problem = Problem::benchmark(&name)?;
    problem.search.effort = Effort::Quick;
    let progress = Progress::new(|event| eprintln!("{event:?}"));

    let log = Log::new(&problem, &progress)?;
    let worlds = log.fit(&problem.world, &progress)?;
    let found = worlds.search(&problem.policy, &problem.search, &progress)?;
    let judged = found.judge(&problem.evaluation, &progress)?;

    sentences(judged.policy()).iter().for_each(|sentence| println!("{sentence}"));
    let summary = judged.summary();
    if let Some(promise) = &summary.promise {
        println!("promised {:.2}, from {:.2} to {:.2}", promise.mean, promise.interval[0], promise.interval[1]);
        println!("the judge says {:?}, holds: {:?}", promise.rescored, promise.holds);
    }
    println!("on the true plant {:?}", summary.true_return);

    let path = std::env::temp_dir().join("controller.c");
    let delivery = judged.source()?.export(&Settings::default(), Target::new(Format::C), &path)?;
    println!("{}", delivery.files[0].display());
    Ok(())
}
