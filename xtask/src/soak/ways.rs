//! The ways of a user that are disturbed, and what they begin with.

use std::path::Path;
use std::process::Command;

use super::Place;
use super::disturbance::undisturbed;

/// What a user does, from the beginning to the end.
pub struct Way {
    pub name: &'static str,
    /// What stands in the directory before: names of the material.
    from: &'static [&'static str],
    pub steps: &'static [Step],
    /// Whether the directory that it makes may be taken away while it works: it makes everything anew then.
    pub removable: Option<&'static str>,
    /// What a reader may ask for meanwhile: the run that it works on.
    pub run: Option<&'static str>,
    /// Whether its commands hold the run's lock, so that they remove what kills have left there; what they make says nothing of
    /// the dates of files.
    pub locks: bool,
}

/// A command of a way.
pub struct Step {
    pub first: &'static [&'static str],
    /// What is given once `made` is there, after an interruption; none if nothing is left to do then.
    again: Option<&'static [&'static str]>,
    made: &'static str,
}

/// A step that is given again as it is.
const fn same(words: &'static [&'static str]) -> Step {
    Step { first: words, again: Some(words), made: "" }
}

impl Step {
    /// What a user gives now; none if all is done.
    pub fn words(&self, place: &Place) -> Option<Vec<&'static str>> {
        match !self.made.is_empty() && place.episode.join(self.made).exists() {
            true => self.again.map(<[_]>::to_vec),
            false => Some(self.first.to_vec()),
        }
    }
}

const RESUME: &[&str] = &["run", "--resume", "run", "--checkpoint-every", "0", "--quiet"];

const MOTOR_STEPS: &[Step] = &[
    Step { first: &["generate", "motor.toml", "--out", "run", "--quiet"], again: None, made: "run" },
    same(&["fit", "run", "--quiet"]),
    same(&["search", "run", "--checkpoint-every", "0", "--quiet"]),
    same(&["evaluate", "run", "--ceiling", "--quiet"]),
    same(&["report", "run", "--quiet"]),
];

pub const WAYS: &[Way] = &[
    Way {
        name: "run",
        from: &["motor.toml", "log.csv"],
        steps: &[Step {
            first: &["run", "motor.toml", "--out", "run", "--checkpoint-every", "0", "--quiet"],
            again: Some(RESUME),
            made: "run",
        }],
        removable: Some("run"),
        run: Some("run"),
        locks: true,
    },
    Way {
        name: "run with growing rules",
        from: &["car.toml"],
        steps: &[Step {
            first: &["run", "car.toml", "--out", "run", "--checkpoint-every", "0", "--quiet"],
            again: Some(RESUME),
            made: "run",
        }],
        removable: Some("run"),
        run: Some("run"),
        locks: true,
    },
    Way {
        name: "stage by stage",
        from: &["motor.toml", "log.csv"],
        steps: MOTOR_STEPS,
        removable: None,
        run: Some("run"),
        locks: true,
    },
    Way {
        name: "export and verify",
        from: &["motor.toml", "log.csv", "run"],
        steps: &[
            same(&["export", "run", "--to", "python", "--out", "controller.py", "--force", "--quiet"]),
            same(&["export", "run", "--to", "c", "--out", "controller.c", "--force", "--quiet"]),
            same(&["verify", "controller.c", "--quiet"]),
        ],
        removable: None,
        run: Some("run"),
        locks: false,
    },
    Way {
        name: "update",
        from: &["motor.toml", "log.csv", "more.csv", "run"],
        steps: &[Step {
            first: &["update", "run", "--log", "more.csv", "--out", "updated", "--budget", "100000steps", "--quiet"],
            again: None,
            made: "updated",
        }],
        removable: None,
        run: Some("run"),
        locks: false,
    },
    Way {
        name: "trade",
        from: &["motor.toml", "log.csv", "run"],
        steps: &[
            same(&["trade", "run", "voltage", "--factors", "0.5,2", "--quiet"]),
            same(&["report", "run", "--quiet"]),
        ],
        removable: None,
        run: Some("run"),
        locks: true,
    },
    Way {
        name: "pi and nfq",
        from: &["motor.toml", "log.csv", "run"],
        steps: &[
            same(&["pi", "run", "--into", "--quiet"]),
            same(&["nfq", "run", "--iterations", "20", "--epochs", "20", "--hidden", "5", "--quiet"]),
            same(&["report", "run", "--quiet"]),
        ],
        removable: None,
        run: Some("run"),
        locks: true,
    },
    Way {
        name: "sweep",
        from: &["motor.toml", "log.csv", "sweep.toml"],
        steps: &[same(&["sweep", "sweep.toml", "--quiet"])],
        removable: Some("sweep"),
        run: None,
        locks: false,
    },
    Way {
        name: "import",
        from: &["motor.toml", "log.csv", "run", "rules.fll"],
        steps: &[
            same(&["import", "rules.fll", "--into", "run", "--force", "--quiet"]),
            same(&["evaluate", "run", "--quiet"]),
            same(&["report", "run", "--quiet"]),
        ],
        removable: None,
        run: Some("run"),
        locks: true,
    },
    Way {
        name: "init and check",
        from: &["log.csv"],
        steps: &[
            same(&["init", "log.csv", "--out", "draft.toml", "--force", "--quiet"]),
            same(&["check", "draft.toml", "--quiet"]),
        ],
        removable: None,
        run: None,
        locks: false,
    },
];

impl Way {
    /// Puts what it begins with into the directory of episodes.
    pub fn begin(&self, place: &Place) -> Result<(), String> {
        for name in self.from {
            let copied = Command::new("cp").arg("-a").arg(place.material.join(name)).arg(&place.episode).status();
            if !copied.is_ok_and(|status| status.success()) {
                return Err(format!("{name} cannot be copied"));
            }
        }
        Ok(())
    }
}

/// A motor whose speed follows a set-point. Its log is named by an absolute path, as everywhere in a run.
const MOTOR: &str = r#"name = "motor"
horizon = 20
[[state]]
name = "speed"
tracks = "ref"
integral = true
[[input]]
name = "ref"
[[action]]
name = "voltage"
unit = "V"
limits = [0.0, 10.0]
move_cost = 0.05
[data]
file = "log.csv"
time = "t"
[world]
reward = "-abs(speed - ref)"
layers = 1
epochs = 5
members = 2
[policy]
rules = 2
[search]
budget = "400000steps"
start_states = 20
[evaluation]
start_states = 30
"#;

/// A built-in plant whose rules grow, with a front.
const CAR: &str = r#"name = "car"
plant = "mountain-car"
[data]
samples = 1000
[world]
kind = "ensemble"
members = 2
layers = 1
epochs = 4
[policy]
rules = "auto"
most_rules = 3
front = true
[search]
optimiser = "swarm"
particles = 12
iterations = 25
start_states = 10
[evaluation]
start_states = 20
"#;

/// Four runs, two at a time.
const SWEEP: &str = "problem = 'motor.toml'\nseeds = 2\nworkers = 2\n[grid]\npolicy.rules = [2, 4]\n";

/// A log of the motor under its old controller.
fn log(rows: usize, mut seed: u64) -> String {
    let mut text = "t,speed,ref,voltage\n".to_owned();
    let mut noise = || {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (seed >> 33) as f64 / f64::from(1u32 << 31) - 0.5
    };
    let (mut speed, mut set_point, mut sum) = (5.0, 5.0, 0.0);
    for row in 0..rows {
        if row % 25 == 0 {
            set_point = 5.0 + 6.0 * noise();
        }
        let error: f64 = set_point - speed;
        sum += error;
        let voltage = (5.0 + 0.4 * error + 0.05 * sum + 2.0 * noise()).clamp(0.0, 10.0);
        text += &format!("{:.1},{speed:.5},{set_point:.5},{voltage:.5}\n", 0.5 * row as f64);
        speed += 0.2 * (voltage - speed) + 0.05 * noise();
    }
    text
}

/// Writes logs and problems, and makes the finished run that some ways begin with.
pub fn write_material(place: &Place) -> Result<(), String> {
    let texts = [
        ("log.csv", log(600, 1)),
        ("more.csv", log(300, 2)),
        ("motor.toml", MOTOR.to_owned()),
        ("car.toml", CAR.to_owned()),
        ("sweep.toml", SWEEP.to_owned()),
    ];
    for (name, text) in &texts {
        for directory in [&place.material, &place.episode] {
            put(&directory.join(name), text)?;
        }
    }
    undisturbed(place, &["run", "motor.toml", "--out", "run", "--quiet"])?;
    undisturbed(place, &["export", "run", "--to", "fll", "--out", "rules.fll", "--quiet"])?;
    for name in ["run", "rules.fll"] {
        let moved = Command::new("cp").arg("-a").arg(place.episode.join(name)).arg(&place.material).status();
        if !moved.is_ok_and(|status| status.success()) {
            return Err(format!("{name} cannot be copied"));
        }
    }
    super::clear(place, false);
    Ok(())
}

fn put(path: &Path, text: &str) -> Result<(), String> {
    std::fs::write(path, text).map_err(|error| format!("{}: {error}", path.display()))
}
