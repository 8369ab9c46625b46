//! The table of `fpsrl trade`: what one cost buys.

use std::fmt::Write;

use fpsrl::explain;
use fpsrl::run::RunDirectory;
use fpsrl::text::{number, with_unit};
use fpsrl::tracking::ControlFigures;
use fpsrl::trade::{LeftOut, Trade, Worth};
use fpsrl::visible::name as shown;

use super::{control, rounded};

/// The policies of which none is both better and cheaper. Writing to a string cannot fail.
pub fn trade(run: &RunDirectory, trade: &Trade) -> fpsrl::Result<String> {
    let problem = run.problem()?;
    let Trade { name, unit, weight, points, present, left_out, .. } = trade;
    let what = match trade.kind.as_str() {
        "movement" => "movement in a step",
        "range" => "how far it is out of its range in a step",
        _ => "what a step costs",
    };
    let unit = &shown(unit);
    let one = with_unit("1", unit);
    let mut text = format!("What {} buys: {what}; {one} is worth {} of the reward\n", shown(name), number(*weight));
    let _ = writeln!(text, "Return: {}\n", explain::what_returns_are(&problem.system));
    let cost = if unit.is_empty() { "cost a step".to_owned() } else { format!("{unit} a step") };
    let _ = writeln!(text, "    factor {cost:>12} {:>12} {:>9} {:>20}  in trade/", "without it", "return", "interval");
    let mut line = |factor: f64, worth: &Worth, file: &str, chosen: bool| {
        let [low, high] = worth.promise.interval;
        let doubt = match (worth.promise.breaks, worth.promise.holds) {
            (true, _) => "  breaks a hard limit",
            (_, Some(false)) => "  does not hold",
            _ => "",
        };
        let line = format!(
            "  {} {:>6} {:>12} {:>12.2} {:>9.2} {:>20}  {file}{}{doubt}",
            if chosen { '*' } else { ' ' },
            number(factor),
            number(rounded(worth.cost)),
            worth.return_without,
            worth.promise.mean,
            format!("{low:.2} to {high:.2}"),
            if chosen { "  the run's own rules" } else { "" },
        );
        let _ = writeln!(text, "{}", line.trim_end());
    };
    for point in points {
        line(point.factor, &point.worth, &shown(&point.file), point.present);
    }
    let on_front = points.iter().any(|point| point.present);
    if !on_front {
        line(1.0, present, "-", true);
    }
    for LeftOut { factor, instead, same, .. } in left_out {
        let (factor, instead) = (number(*factor), number(*instead));
        let _ = match same {
            true => writeln!(text, "  factor {factor}: the rules of factor {instead} are the best that were found"),
            false => writeln!(text, "  factor {factor}: the rules of factor {instead} are both better and cheaper"),
        };
    }
    if !on_front {
        text.push_str("  the run's own rules: others are both better and cheaper\n");
    }
    let titles: Vec<String> = points.iter().map(|point| format!("x {}", number(point.factor))).collect();
    let mut columns: Vec<(&str, Option<&ControlFigures>)> = Vec::new();
    for (title, point) in titles.iter().zip(points) {
        columns.push((if point.present { "now" } else { title }, point.worth.figures.as_ref()));
    }
    if !on_front {
        columns.push(("now", present.figures.as_ref()));
    }
    text.push_str(&control(&problem.system, &columns));
    Ok(text)
}
