//! Running an export with the target's own tool, over the states of its test vectors.

use std::fmt::Write as _;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use minijinja::context;

use crate::export::{Controller, ControllerFile, Dialect, FORMATS, Format, Interface, Mathematics, Target, Vectors};
use crate::import;
use fpsrl_base::error::{Error, Result};
use fpsrl_base::files;
use fpsrl_base::reason;
use fpsrl_base::remedy::Remedy;
use fpsrl_base::visible;

/// What came of running an export.
#[derive(Clone, Debug, PartialEq)]
pub enum Verification {
    /// It ran: which program ran it, and the actions and the flag for each state.
    Ran {
        /// The program, with its version.
        tool: String,
        /// Actions and flag.
        rows: Vec<(Vec<f64>, bool)>,
    },
    /// The target's tool is not on this machine.
    Missing {
        /// What is missing.
        what: String,
    },
    /// The tool refused the export, or the export failed.
    Failed {
        /// What the tool said.
        said: String,
    },
}

/// Runs an export over test vectors.
///
/// `tool` replaces the target's usual tool: a command with its first arguments, such as `clang -fsanitize=undefined`.
pub fn execute(interface: &Interface, path: &Path, vectors: &Vectors, tool: Option<&[String]>) -> Result<Verification> {
    let path = files::absolute(path);
    if let Some(problem) = disguise(interface, &path) {
        let remedy = Remedy::words("export it again; a certificate of someone else says what is run");
        return Err(Error::Malformed { path, line: None, column: None, problem, remedy });
    }
    let directory = tempfile::tempdir().map_err(|source| Error::write(&std::env::temp_dir(), source))?;
    let run = Run { interface, path: &path, directory: directory.path(), vectors };
    match interface.target.format {
        Format::C => run.c(tool),
        Format::Rust => run.rust(tool),
        Format::Python => run.script(tool, &["python3", "python"], "python.py", include_str!("harness/python.py")),
        Format::Javascript => {
            run.script(tool, &["node", "nodejs"], "javascript.mjs", include_str!("harness/javascript.mjs"))
        }
        Format::St => {
            run.script(tool, &["python3", "python"], "structured_text.py", include_str!("harness/structured_text.py"))
        }
        Format::Onnx => run.script(tool, &["python3", "python"], "onnx_harness.py", include_str!("harness/onnx.py")),
        Format::Fis => run.script(tool, &["octave-cli", "octave"], "fis_harness.m", include_str!("harness/fis.m")),
        Format::Fcl if interface.target.dialect != Dialect::Fuzzylite => run.rules(),
        Format::Fll | Format::Fcl => {
            run.script(tool, &["python3", "python"], "fll_harness.py", include_str!("harness/fll.py"))
        }
        Format::Json => run.json(),
    }
}

/// The same by what is quick, for a certificate: Octave takes a minute for what a reader of our own does in a moment.
pub fn execute_quickly(interface: &Interface, path: &Path, vectors: &Vectors) -> Result<Verification> {
    if !matches!(interface.target.format, Format::Fis | Format::Fcl) {
        return execute(interface, path, vectors, None);
    }
    Run { interface, path, directory: Path::new(""), vectors }.rules()
}

/// Ends a harness that lacks a package; what is missing stands on standard error.
const PACKAGE_MISSING: i32 = 3;

/// What is wrong with an interface that would have something else run than the file's name says. It stands in a file, which may
/// come from anywhere: data must not be compiled because of it, and nothing but names may get into the code of a harness.
fn disguise(interface: &Interface, path: &Path) -> Option<String> {
    let format = interface.target.format;
    if !matches!(format, Format::C | Format::Rust | Format::Python | Format::Javascript | Format::St) {
        return None;
    }
    let extension = path.extension().map(|extension| extension.to_string_lossy().to_lowercase()).unwrap_or_default();
    let is_data = FORMATS.iter().any(|other| {
        let of_data = other.is_rule_base() || matches!(other, Format::Json | Format::Onnx);
        of_data && Target::new(*other).extension() == extension
    });
    if is_data {
        return Some(format!("its certificate says that it is `{}`, which is code; this is data", format.name()));
    }
    let names = &interface.names;
    let is_name = |name: &String| {
        name.starts_with(|c: char| c.is_ascii_alphabetic())
            && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
    };
    let mut all = [&names.controller].into_iter().chain(&names.states).chain(&names.actions);
    if let Some(name) = all.find(|name| !is_name(name)) {
        return Some(format!("its certificate calls something `{}`, which no export does", visible::name(name)));
    }
    // The path becomes a part of a program, too.
    let quoted = matches!(format, Format::C | Format::Rust) && path.to_string_lossy().contains(['"', '\n', '\r']);
    quoted.then(|| "its path holds a quote or a line break; move it to another place".to_owned())
}

struct Run<'a> {
    interface: &'a Interface,
    path: &'a Path,
    directory: &'a Path,
    vectors: &'a Vectors,
}

impl Run<'_> {
    fn c(&self, tool: Option<&[String]>) -> Result<Verification> {
        let names = &self.interface.names;
        let header = self.path.with_extension("h");
        let header = header.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        let main = fill(
            include_str!("harness/main.c.jinja"),
            context! { header, n => names, remembers => self.interface.remembers, sums => self.interface.sums },
        )?;
        let source = self.write("main.c", &main)?;
        let program = self.directory.join("main");
        let usual = std::env::var("CC").ok();
        let usual: Vec<&str> = usual.as_deref().into_iter().chain(["cc", "gcc", "clang"]).collect();
        let Some(tool) = choose(tool, &usual, &["-std=c99", "-O2", "-Wall", "-Wextra", "-Werror", "-pedantic"]) else {
            return Ok(missing(&usual));
        };
        let mut compile = command(&tool);
        compile.arg("-I").arg(self.path.parent().unwrap_or(Path::new(".")));
        compile.args([self.path, &source]).arg("-o").arg(&program);
        if self.interface.target.mathematics == Mathematics::Library {
            compile.arg("-lm");
        }
        if let Some(said) = failure(&mut compile) {
            return Ok(Verification::Failed { said });
        }
        self.run(Command::new(program), &tool)
    }

    fn rust(&self, tool: Option<&[String]>) -> Result<Verification> {
        let usual = ["rustc"];
        let Some(tool) = choose(tool, &usual, &["--edition", "2021", "-O", "-D", "warnings"]) else {
            return Ok(missing(&usual));
        };
        let path = self.path.to_string_lossy().replace('\\', "/");
        // First as a library without `std`, then in a program that has it.
        let library = self.write("library.rs", &format!("#![no_std]\n#[path = \"{path}\"]\npub mod controller;\n"))?;
        let mut compile = command(&tool);
        compile.args(["--crate-type", "lib", "--emit", "metadata", "--out-dir"]).arg(self.directory).arg(library);
        if let Some(said) = failure(&mut compile) {
            return Ok(Verification::Failed { said });
        }
        let main = fill(
            include_str!("harness/main.rs.jinja"),
            context! { path, n => &self.interface.names, sums => self.interface.sums },
        )?;
        let source = self.write("main.rs", &main)?;
        let program = self.directory.join("main");
        let mut compile = command(&tool);
        // A program uses less of the module than a library exports.
        compile.args(["-A", "dead_code"]).arg(source).arg("-o").arg(&program);
        if let Some(said) = failure(&mut compile) {
            return Ok(Verification::Failed { said });
        }
        self.run(Command::new(program), &tool)
    }

    fn script(&self, tool: Option<&[String]>, usual: &[&str], name: &str, text: &str) -> Result<Verification> {
        let Some(tool) = choose(tool, usual, &[]) else {
            return Ok(missing(usual));
        };
        let script = self.write(name, text)?;
        let interface = self.directory.join("interface.json");
        files::write_json(&interface, self.interface)?;
        let mut run = command(&tool);
        run.arg(script).arg(self.path).arg(interface);
        self.run(run, &tool)
    }

    /// Rules in a format for which there is no program but our own reader.
    fn rules(&self) -> Result<Verification> {
        let mut policy = import::read(self.path)?.policy;
        // A tool for these formats knows no circle, whatever our own comment says.
        policy.states.iter_mut().for_each(|state| state.periodic = false);
        let act = |state: &Vec<f64>| (policy.act(state), false);
        Ok(Verification::Ran { tool: own_reader(), rows: self.vectors.states.iter().map(act).collect() })
    }

    fn json(&self) -> Result<Verification> {
        let file: ControllerFile = files::read_json(self.path)?;
        let ControllerFile { name, policy, guard, fallback, rate_limits, .. } = file;
        let controller = Controller::new(&name, policy, self.interface.precision, guard, fallback, rate_limits);
        let controller = controller.map_err(|error| Error::Malformed {
            path: self.path.to_owned(),
            line: None,
            column: None,
            problem: error.to_string(),
            remedy: "export it again".into(),
        })?;
        let mut memory = controller.begin();
        let step = |(reset, state): (bool, &Vec<f64>)| {
            if reset {
                memory = controller.begin();
            }
            let outside = controller.step(&mut memory, state);
            (memory.last.clone(), outside)
        };
        Ok(Verification::Ran { tool: own_reader(), rows: self.vectors.steps().map(step).collect() })
    }

    /// Runs a program over the states.
    fn run(&self, mut program: Command, tool: &[String]) -> Result<Verification> {
        let mut input = String::new();
        for (reset, state) in self.vectors.steps() {
            // A controller that adds up is told first whether it is reset.
            let first = (self.interface.sums > 0).then(|| u8::from(reset).to_string());
            let words: Vec<String> = first.into_iter().chain(state.iter().map(|value| format!("{value:?}"))).collect();
            let _ = writeln!(input, "{}", words.join(" "));
        }
        let input = self.write("states.txt", &input)?;
        let input = File::open(&input).map_err(|source| Error::read(&input, source))?;
        let output = match program.current_dir(self.directory).stdin(input).output() {
            Ok(output) => output,
            Err(error) => return Ok(Verification::Failed { said: reason::told(&error) }),
        };
        let said = String::from_utf8_lossy(&output.stderr).trim().to_owned();
        if output.status.code() == Some(PACKAGE_MISSING) {
            return Ok(Verification::Missing { what: said });
        }
        // Sanitizers speak on standard error and go on.
        if !output.status.success() || said.contains("runtime error") {
            return Ok(Verification::Failed { said: format!("{} {}", output.status, on_one_line(&said)) });
        }
        let actions = self.interface.names.actions.len();
        let rows =
            String::from_utf8_lossy(&output.stdout).lines().map(|line| row(line, actions)).collect::<Option<Vec<_>>>();
        let rows = rows.map(|rows| match &self.interface.outer {
            None => rows,
            Some(outer) => {
                let act =
                    |row: Vec<f64>| row.into_iter().zip(outer).map(|(output, outer)| outer.action(output)).collect();
                rows.into_iter().map(|(row, outside)| (act(row), outside)).collect()
            }
        });
        match rows {
            Some(rows) if rows.len() == self.vectors.len() => {
                Ok(Verification::Ran { tool: version(tool, &said), rows })
            }
            _ => Ok(Verification::Failed { said: "it did not give an action for each state".into() }),
        }
    }

    fn write(&self, name: &str, text: &str) -> Result<PathBuf> {
        let path = self.directory.join(name);
        std::fs::write(&path, text).map_err(|source| Error::write(&path, source))?;
        Ok(path)
    }
}

fn own_reader() -> String {
    format!("fpsrl {}, its own reader", env!("CARGO_PKG_VERSION"))
}

/// The actions and the flag of a line.
fn row(line: &str, actions: usize) -> Option<(Vec<f64>, bool)> {
    let mut words: Vec<&str> = line.split_whitespace().collect();
    let outside = words.pop()? == "1";
    let numbers: Vec<f64> = words.iter().map(|word| word.parse().ok()).collect::<Option<_>>()?;
    (numbers.len() == actions).then_some((numbers, outside))
}

fn fill(template: &str, context: minijinja::Value) -> Result<String> {
    let mut environment = minijinja::Environment::new();
    environment.set_trim_blocks(true);
    environment.set_lstrip_blocks(true);
    environment.set_keep_trailing_newline(true);
    environment.render_str(template, context).map_err(|_| Error::Internal("a template of a harness is broken"))
}

/// The command to use: what the user asked for, or the first of the usual ones that is there, with its usual arguments.
fn choose(tool: Option<&[String]>, usual: &[&str], arguments: &[&str]) -> Option<Vec<String>> {
    let with_arguments = |program: &str| [&[program], arguments].concat().into_iter().map(str::to_owned).collect();
    match tool {
        // Without arguments of its own, it gets the usual ones.
        Some([program]) => answers(program).then(|| with_arguments(program)),
        Some([program, rest @ ..]) => answers(program).then(|| [std::slice::from_ref(program), rest].concat()),
        _ => usual.iter().find(|program| answers(program)).map(|program| with_arguments(program)),
    }
}

fn answers(program: &str) -> bool {
    let mut command = Command::new(program);
    command.arg("--version").stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}

fn command(tool: &[String]) -> Command {
    let mut command = Command::new(&tool[0]);
    command.args(&tool[1..]);
    command
}

fn missing(usual: &[&str]) -> Verification {
    Verification::Missing { what: format!("none of {} is on this machine", usual.join(", ")) }
}

/// What a tool said on several lines, as a message has it.
fn on_one_line(said: &str) -> String {
    said.lines().map(str::trim).filter(|line| !line.is_empty()).collect::<Vec<_>>().join("; ")
}

/// What a compiler said if it failed.
fn failure(command: &mut Command) -> Option<String> {
    match command.stdin(Stdio::null()).output() {
        Ok(output) if output.status.success() => None,
        Ok(output) => Some(on_one_line(&String::from_utf8_lossy(&output.stderr))),
        Err(error) => Some(reason::told(&error)),
    }
}

/// The first line of what a tool says about itself, and what a harness adds on standard error.
fn version(tool: &[String], said: &str) -> String {
    let output = Command::new(&tool[0]).arg("--version").stdin(Stdio::null()).output();
    let first = output
        .ok()
        .and_then(|output| String::from_utf8_lossy(&output.stdout).lines().next().map(|line| line.trim().to_owned()));
    let first = first.unwrap_or_else(|| tool[0].clone());
    if said.is_empty() { first } else { format!("{first}, {}", said.lines().next().unwrap_or_default()) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::export::controller::tests::small;
    use crate::export::memory::tests::tracking;
    use crate::export::{Kind, OutOfRange, Precision, Response};

    /// Exports a controller and runs what was written over vectors; whether it could be run here.
    fn agrees(controller: &Controller, target: Target, vectors: &Vectors) -> bool {
        let directory = tempfile::tempdir().unwrap();
        let generated = target.generate(controller, None, "tank").unwrap();
        for file in &generated.files {
            std::fs::write(directory.path().join(format!("tank.{}", file.extension)), &file.content).unwrap();
        }
        let interface = Interface::new(controller, target, &generated);
        let path = directory.path().join(format!("tank.{}", target.extension()));
        match execute(&interface, &path, vectors, None).unwrap() {
            Verification::Ran { rows, tool } => {
                let differences = interface.compare(vectors, &rows, controller.precision.tolerance());
                println!("{target:?}, {tool}: {:.1e} over {}", differences.largest, differences.compared);
                assert!(differences.passed, "{target:?} {:?}: {differences:?}", controller.precision);
                true
            }
            Verification::Missing { .. } => false,
            Verification::Failed { said } => panic!("{target:?}: {said}"),
        }
    }

    const CODE: [Format; 7] =
        [Format::Json, Format::Python, Format::C, Format::St, Format::Javascript, Format::Rust, Format::Onnx];

    #[test]
    fn controllers_that_add_up_do_the_same_in_every_language() {
        let cases = [
            (Precision::Double, Some(Response::Clamp), None),
            (Precision::Single, None, Some(15.0)),
            (Precision::Single, Some(Response::Hold), None),
        ];
        for (precision, response, rate) in cases {
            let controller = tracking(precision, response, rate);
            let vectors = Vectors::new(&controller);
            for format in CODE {
                if precision == Precision::Double || format.knows_single() {
                    agrees(&controller, Target::new(format), &vectors);
                }
            }
            let siemens = Target { dialect: Dialect::Siemens, ..Target::new(Format::St) };
            agrees(&controller, siemens, &vectors);
        }
    }

    #[test]
    fn a_certificate_does_not_make_code_of_data_nor_brings_code_of_its_own() {
        let controller = small(Precision::Double, None, None);
        let target = Target::new(Format::Python);
        let generated = target.generate(&controller, None, "small").unwrap();
        let interface = Interface::new(&controller, target, &generated);
        let vectors = Vectors::new(&controller);
        let refused = |interface: &Interface, file: &str| {
            execute(interface, Path::new(file), &vectors, None).unwrap_err().to_string()
        };
        for file in ["rules.fll", "rules.FIS", "controller.json", "graph.onnx"] {
            assert!(refused(&interface, file).contains("this is data"), "{file}");
        }
        for format in [Format::C, Format::Rust, Format::St] {
            let mut interface = Interface { target: Target::new(format), ..interface.clone() };
            interface.names.states[0] = "position = 0; } int hostile(void) {".into();
            assert!(refused(&interface, "small.c").contains("which no export does"), "{format:?}");
        }
    }

    #[test]
    fn tools_for_rules_alone_are_given_what_controllers_compute() {
        for response in [None, Some(Response::Clamp)] {
            let controller = tracking(Precision::Double, response, None);
            for format in [Format::Fll, Format::Fcl, Format::Fis] {
                let vectors = Vectors::of_rules(&controller, OutOfRange::of(format, response));
                assert_eq!(vectors.states[0].len(), 6);
                agrees(&controller, Target::new(format), &vectors);
                let generated = Target::new(format).generate(&controller, None, "tank").unwrap();
                let text = String::from_utf8(generated.files[0].content.clone()).unwrap();
                assert!(text.contains("level_error is level set-point less level\n"), "{text}");
                assert!(generated.notes.iter().any(|note| note.contains("running sums")));
            }
        }
    }

    #[test]
    fn a_plant_is_driven_alike_by_the_reference_by_python_and_by_c() {
        for (precision, response) in [(Precision::Double, Some(Response::Clamp)), (Precision::Single, None)] {
            let controller = tracking(precision, response, Some(30.0));
            let mut vectors = Vectors::new(&controller);
            vectors.truncate(600);
            let mut memory = controller.begin();
            let (mut level, mut before) = (0.4, 0.4);
            for step in 0..vectors.len() {
                // The set-point is out of reach for a while, so that the sum runs into its limit; then someone takes over.
                let set_point = [1.2, 3.0, 0.6][step / 100 % 3];
                let state =
                    [level, set_point, f64::from(step as u32 / 40 % 3), before].map(|value| precision.round(value));
                let reset = step == 350;
                if reset {
                    memory = controller.begin();
                }
                vectors.outside[step] = controller.step(&mut memory, &state);
                vectors.actions[step].clone_from(&memory.last);
                vectors.states[step] = state.to_vec();
                vectors.resets[step] = reset;
                vectors.kinds[step] = Kind::Inside;
                before = level;
                level += 0.05 * (0.02 * memory.last[0] - level);
            }
            assert!(level > 0.1 && level < 2.1);
            for format in [Format::Python, Format::C] {
                if precision == Precision::Double || format.knows_single() {
                    agrees(&controller, Target::new(format), &vectors);
                }
            }
        }
    }
}
