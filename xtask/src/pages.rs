//! Checks of the report: its arithmetic against the library's, and its pages in a real browser.

use std::fmt::Write;
use std::path::Path;
use std::process::Command;

use crate::outside::{self, Program, install};
use crate::{Outcome, run};

const NODE: Program = Program { command: "node", debian: "nodejs" };
const NPM: Program = Program { command: "npm", debian: "npm" };
const CHROMIUM: Program = Program { command: "chromium", debian: "chromium" };

/// What drives the browser; it brings no browser of its own.
const PLAYWRIGHT: &str = "playwright-core@1";

/// The page computes what the library computes, on thousands of states.
pub fn arithmetic(root: &Path) -> Outcome {
    if let Err(why) = install(&NODE) {
        return Outcome::Skipped(why);
    }
    let directory = root.join("target/outside");
    if let Err(error) = std::fs::create_dir_all(&directory) {
        return Outcome::Failed(format!("{} cannot be made: {error}", directory.display()));
    }
    let reference = directory.join("page-reference.json");
    let fixture = match outside::fixture(root, "page_reference") {
        Ok(fixture) => fixture,
        Err(why) => return Outcome::Failed(why),
    };
    if let Outcome::Failed(why) = run(Command::new(fixture).arg(&reference).current_dir(root)) {
        return Outcome::Failed(why);
    }
    let tests = ["page.test.js", "reference.test.js"].map(|name| root.join("crates/fpsrl-report/web/tests").join(name));
    run(Command::new(NODE.command).arg("--test").args(tests).env("FPSRL_REFERENCE", reference))
}

/// Reports of the benchmarks, of a log without a plant and of hostile names hold up in a browser.
pub fn in_a_browser(root: &Path) -> Outcome {
    for program in [&NODE, &NPM, &CHROMIUM] {
        if let Err(why) = install(program) {
            return Outcome::Skipped(why);
        }
    }
    let target = root.join("target/outside");
    let tools = target.join("browser");
    let playwright = tools.join("node_modules/playwright-core");
    if !playwright.exists() {
        let npm = Command::new(NPM.command)
            .args(["install", "--no-audit", "--no-fund", "--loglevel=error", "--prefix"])
            .arg(&tools)
            .arg(PLAYWRIGHT)
            .status();
        if !npm.is_ok_and(|status| status.success()) {
            return Outcome::Skipped(format!("{PLAYWRIGHT} not available from npm"));
        }
    }
    let pages = target.join("pages");
    match make_runs(root, &pages) {
        Ok(()) => run(Command::new(NODE.command).arg(root.join("xtask/browser/check.mjs")).arg(playwright).arg(pages)),
        Err(why) => Outcome::Failed(why),
    }
}

/// Runs whose reports are looked at, made by the command.
fn make_runs(root: &Path, pages: &Path) -> Result<(), String> {
    if pages.exists() {
        std::fs::remove_dir_all(pages).map_err(|error| error.to_string())?;
    }
    std::fs::create_dir_all(pages).map_err(|error| error.to_string())?;
    let binary = outside::command(root)?;
    let command = |arguments: &[&str]| match run(Command::new(&binary).args(arguments).current_dir(root)) {
        Outcome::Failed(why) => Err(why),
        _ => Ok(()),
    };
    for plant in ["mountain-car", "cart-pole-balancing", "cart-pole-swing-up"] {
        let problem = pages.join(format!("{plant}.toml"));
        let text = format!(
            "name = \"{plant}\"\nplant = \"{plant}\"\n[data]\nsamples = 3000\n[world]\nkind = \"ensemble\"\nlayers = 1\nepochs = 12\n\
             [search]\nparticles = 20\niterations = 15\nstart_states = 20\n[evaluation]\nstart_states = 200\n"
        );
        std::fs::write(&problem, text).map_err(|error| error.to_string())?;
        let out = pages.join(plant);
        command(&["run", &problem.to_string_lossy(), "--quiet", "--out", &out.to_string_lossy()])?;
    }
    for (name, states, rules) in [("own-log", 2, 2), ("hostile", 40, 12), ("eight-by-ten", 10, 8)] {
        let directory = pages.join(name);
        write_log(&directory, states, rules, name == "hostile").map_err(|error| error.to_string())?;
        let path = directory.to_string_lossy();
        for stage in ["fit", "search", "evaluate", "report"] {
            command(&[stage, &path, "--quiet"])?;
        }
    }
    let own = pages.join("own-log");
    let overlay = pages.join("cart-pole-balancing");
    let twin = overlay.to_string_lossy();
    command(&["report", &twin, "--quiet", "--overlay", &twin])?;
    command(&["explain", &own.to_string_lossy(), "--svg", "--quiet"])
}

/// A log of a plant that nobody knows, with a problem file beside it.
fn write_log(directory: &Path, states: usize, rules: usize, hostile: bool) -> std::io::Result<()> {
    std::fs::create_dir_all(directory)?;
    let long = "x".repeat(200);
    let names: Vec<String> = (0..states)
        .map(|index| match (hostile, index) {
            (true, 0) => "</script><script>executed = 1</script>".into(),
            (true, 1) => "<img src=x onerror='executed = 2'>".into(),
            (true, 2) => "\u{202e}درجة الحرارة".into(),
            (true, 3) => long.clone(),
            (true, 4) => "]]>--><!--<svg onload=executed=3>".into(),
            (true, 5) => "x')||(executed=4)||('x".into(),
            (true, 6) => "&lt b&gt ${executed = 5} {{6}}".into(),
            _ => format!("sensor {index}"),
        })
        .collect();
    let unit = if hostile { "\"'</style><script>executed = 7</script>" } else { "K" };
    // Names are TOML strings, in which quotes and backslashes are marked.
    let quoted = |text: &str| format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""));
    let mut problem = String::from("name = \"own\"\nhorizon = 20\n");
    for (index, name) in names.iter().enumerate() {
        let unit = if index % 2 == 0 { unit } else { "" };
        let _ = write!(problem, "[[state]]\nname = {}\nunit = {}\nstart = [-1.0, 1.0]\n", quoted(name), quoted(unit));
    }
    let action = if hostile { "<b onclick=executed=8>valve</b>" } else { "valve" };
    let _ = write!(
        problem,
        "[[action]]\nname = {}\nunit = {}\nlimits = [-1.0, 1.0]\n[world]\nkind = \"ensemble\"\nlayers = 1\nneurons = 2\nepochs = 3\n\
         [policy]\nrules = {rules}\n[search]\nparticles = 8\niterations = 3\nstart_states = \
         10\n[evaluation]\nstart_states = 50\n",
        quoted(action),
        quoted(unit)
    );
    std::fs::write(directory.join("problem.toml"), problem)?;

    let next_names: Vec<String> = names.iter().map(|name| format!("next_{name}")).collect();
    let mut log = format!("episode,step,{},{action},{},reward\n", names.join(","), next_names.join(","));
    // A crude source of numbers is enough to move a plant that only has to look alive.
    let mut seed = 1u64;
    let mut uniform = || {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (seed >> 33) as f64 / (1u64 << 30) as f64 - 1.0
    };
    for episode in 0..20 {
        let mut state: Vec<f64> = (0..states).map(|_| uniform()).collect();
        for step in 0..30 {
            let push = uniform();
            let next: Vec<f64> =
                (0..states).map(|at| 0.95 * state[at] + 0.1 * push + 0.05 * state[(at + 1) % states]).collect();
            let reward = -next[0].abs();
            let numbers = |row: &[f64]| row.iter().map(f64::to_string).collect::<Vec<_>>().join(",");
            let _ = writeln!(log, "{episode},{step},{},{push},{},{reward}", numbers(&state), numbers(&next));
            state = next;
        }
    }
    std::fs::write(directory.join("transitions.csv"), log)
}
