//! `pi`, `update` and `trade`: the controller that a plant has, the data that come later, and what a cost buys.

use fpsrl::files;

use super::{begin, opened, print};
use crate::Failure;
use crate::arguments::{PiArguments, TradeArguments, UpdateArguments};
use crate::table;
use crate::terminal::argument;

/// Tunes or scores PI controllers.
pub fn pi(arguments: &PiArguments) -> Result<(), Failure> {
    let manner = &arguments.existing.manner;
    let directory = &arguments.existing.directory;
    let run = opened(directory, manner)?;
    let bars = begin(manner);
    let _lock = run.lock()?;
    let comparison = run.pi(&arguments.options(), &bars).map_err(again)?;
    print(manner, || files::to_json(&comparison), || table::pi(&run, &comparison))?;
    bars.say(&format!("the figures are in {}", run.file("pi.json").display()));
    if arguments.into {
        let begins = format!("`fpsrl search {}` begins with it", argument(directory));
        bars.say(&format!("as rules it is in {}: {begins}", run.file("start.json").display()));
    }
    Ok(())
}

/// Takes in more data.
pub fn update(arguments: &UpdateArguments) -> Result<(), Failure> {
    let manner = &arguments.manner;
    let run = opened(&arguments.run, manner)?;
    let bars = begin(manner);
    let update = run.update(&arguments.options(), &bars).map_err(again)?;
    print(manner, || files::to_json(&update), || Ok(table::update(&update)))?;
    bars.say(&format!("the new run is in {}", update.run.display()));
    Ok(())
}

/// Weighs one cost more and less.
pub fn trade(arguments: &TradeArguments) -> Result<(), Failure> {
    let manner = &arguments.manner;
    let run = opened(&arguments.run, manner)?;
    let bars = begin(manner);
    let _lock = run.lock()?;
    let trade = run.trade(&arguments.options(), &bars).map_err(again)?;
    print(manner, || files::to_json(&trade), || table::trade(&run, &trade))?;
    bars.say(&format!("the figures are in {}", run.file("trade.json").display()));
    if let Some(point) = trade.points.iter().find(|point| !point.present) {
        let (file, run) = (argument(&run.file("trade").join(&point.file)), argument(run.path()));
        bars.say(&format!("to take one, `fpsrl import {file} --into {run}`, then `fpsrl evaluate {run}`"));
    }
    bars.say(&format!("`fpsrl report {}` shows them in the page", argument(run.path())));
    Ok(())
}

/// An interruption leaves everything as it was.
fn again(error: fpsrl::Error) -> Failure {
    match error {
        fpsrl::Error::Stopped { .. } => {
            let hint = "nothing was written; give the same command again".into();
            Failure::Interrupted { message: error.to_string(), hint }
        }
        other => Failure::Library(other),
    }
}
