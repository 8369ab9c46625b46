//! A user's own simulator as a world: a process that speaks lines of JSON.
//!
//! The process is told the names of the variables in a first line, and answers with the largest reward that there can be:
//!
//! ```text
//! > {"fpsrl":1,"states":["level"],"actions":["valve"]}
//! < {"largest_reward":0}
//! ```
//!
//! From then on each line asks for one step of several independent copies of the plant, a row each, and each answer holds
//! as many rows. `terminated` and `later_rewards`, the reward of every step after a plant has stopped for good, may be
//! left out:
//!
//! ```text
//! > {"states":[[1.5],[0.2]],"actions":[[0.3],[1]]}
//! < {"next_states":[[1.4],[0.25]],"rewards":[-0.4,-0.75],"terminated":[false,false],"later_rewards":[0,0]}
//! ```
//!
//! Each thread has a process of its own, started when it is first needed; it ends when its input does.
//!
//! A problem file names the program, and a run directory holds the problem of whoever made it. So no process is started
//! without a [`Permission`], which no file can give.

use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, Command, Stdio};
use std::sync::Mutex;

use serde::{Deserialize, Serialize};

use fpsrl_base::error::{Error, Result};
use fpsrl_base::reason;
use fpsrl_base::remedy::Remedy;
use fpsrl_base::visible::shell_words;
use fpsrl_engine::rollout::Lanes;
use fpsrl_engine::simd::Numerics;
use fpsrl_engine::world::World;

use crate::simulator::{FUNCTION, Simulator};

/// The version of the conversation.
const VERSION: u32 = 1;

/// Whether programs may be started that a problem names as its world. They may do whatever their starter may, so it is for
/// the caller to say; no file holds it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Permission {
    /// None is started: asking for one is an error.
    #[default]
    Refused,
    /// They are started.
    Allowed,
}

impl Permission {
    /// The permission that an option of the caller gives.
    pub fn if_asked(allowed: bool) -> Self {
        if allowed { Self::Allowed } else { Self::Refused }
    }
}
/// The longest line that is taken as an answer: so many bytes, and so many more for each number that was asked for. JSON
/// needs some 25 for a number; without a limit, a process that never ends its line would fill the memory.
const LONGEST_LINE: usize = 1 << 16;
const LONGEST_NUMBER: usize = 256;

/// A process as a world.
pub struct ProcessWorld {
    command: Vec<String>,
    states: Vec<String>,
    actions: Vec<String>,
    largest_reward: f64,
    /// Whether no other process can be started beside the one that is there.
    alone: bool,
    /// Whose turn it is where there is only one.
    turn: Mutex<()>,
    idle: Mutex<Vec<Conversation>>,
    fault: Mutex<Option<String>>,
}

/// A simulator under way: a process, or whoever else is at the other end of a pipe.
struct Conversation {
    child: Option<Child>,
    input: Option<Box<dyn Write + Send>>,
    output: BufReader<Box<dyn Read + Send>>,
}

#[derive(Serialize)]
struct Greeting<'a> {
    fpsrl: u32,
    states: &'a [String],
    actions: &'a [String],
}

#[derive(Deserialize)]
struct Welcome {
    largest_reward: f64,
}

#[derive(Serialize)]
struct Question {
    states: Vec<Vec<f64>>,
    actions: Vec<Vec<f64>>,
}

#[derive(Deserialize)]
struct Answer {
    next_states: Vec<Vec<f64>>,
    rewards: Vec<f64>,
    #[serde(default)]
    terminated: Vec<bool>,
    #[serde(default)]
    later_rewards: Vec<f64>,
}

impl ProcessWorld {
    /// Starts a process, given as its program and arguments, and greets it, if that is permitted.
    ///
    /// ```
    /// use fpsrl_world::process::{Permission, ProcessWorld};
    /// let command = ["python3".to_owned(), "simulator.py".to_owned()];
    /// let error = ProcessWorld::start(&command, &[], &[], Permission::Refused).err().unwrap();
    /// assert!(error.to_string().contains("only if that is allowed"), "{error}");
    /// ```
    pub fn start(command: &[String], states: &[String], actions: &[String], permission: Permission) -> Result<Self> {
        // A function of another program is no program.
        if permission == Permission::Refused && command.first().is_some_and(|program| program != FUNCTION) {
            return Err(Error::setting(
                "world.process",
                shell_words(command),
                "a program that a file names is started only if that is allowed",
                Remedy::words("it may do whatever you may: if you trust it, allow it with ")
                    .option("allow-process", None),
            ));
        }
        let world = Self::silent(command, states, actions);
        let greeted = world.start_process().and_then(|conversation| world.greet(conversation));
        world.begun_by(greeted)
    }

    /// Greets a simulator that is there already, at the other ends of two pipes; `name` is what messages call it. There is
    /// only this one: steps wait for each other, and when it falls silent nobody takes its place.
    ///
    /// ```
    /// use fpsrl_world::process::ProcessWorld;
    /// let names = |name: &str| vec![name.to_owned()];
    /// let said = std::io::Cursor::new(b"{\"largest_reward\":0}\n");
    /// let world = ProcessWorld::over("tank", said, std::io::sink(), &names("level"), &names("valve"));
    /// assert!(world.is_ok());
    /// ```
    pub fn over(
        name: &str,
        output: impl Read + Send + 'static,
        input: impl Write + Send + 'static,
        states: &[String],
        actions: &[String],
    ) -> Result<Self> {
        let mut world = Self::silent(&[name.to_owned()], states, actions);
        world.alone = true;
        let output: Box<dyn Read + Send> = Box::new(output);
        let conversation = Conversation { child: None, input: Some(Box::new(input)), output: BufReader::new(output) };
        let greeted = world.greet(conversation);
        world.begun_by(greeted)
    }

    /// A world that nobody has been asked about yet.
    fn silent(command: &[String], states: &[String], actions: &[String]) -> Self {
        Self {
            command: command.to_vec(),
            states: states.to_vec(),
            actions: actions.to_vec(),
            largest_reward: 0.0,
            alone: false,
            turn: Mutex::new(()),
            idle: Mutex::new(Vec::new()),
            fault: Mutex::new(None),
        }
    }

    fn begun_by(mut self, greeted: Result<(Conversation, f64), String>) -> Result<Self> {
        let (conversation, largest_reward) = greeted.map_err(|fault| self.error(fault))?;
        self.largest_reward = largest_reward;
        self.idle = Mutex::new(vec![conversation]);
        Ok(self)
    }

    fn error(&self, fault: String) -> Error {
        Error::setting(
            "the simulator",
            format!("`{}`", shell_words(&self.command)),
            fault,
            "run it by hand: it reads a line of JSON and answers with a line of JSON",
        )
    }

    /// A new process.
    fn start_process(&self) -> Result<Conversation, String> {
        if self.alone {
            return Err("it has fallen silent".into());
        }
        let (program, arguments) = self.command.split_first().ok_or("no program is named")?;
        if program == FUNCTION {
            return Err("this world was a function of another program, and only that program has it".into());
        }
        let mut child = Command::new(program)
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .map_err(|error| format!("it cannot be started: {}", reason::told(&error)))?;
        let (input, output) = (child.stdin.take(), child.stdout.take().ok_or("it has no output")?);
        let input = input.map(|input| Box::new(input) as Box<dyn Write + Send>);
        let output: Box<dyn Read + Send> = Box::new(output);
        Ok(Conversation { child: Some(child), input, output: BufReader::new(output) })
    }

    /// The largest reward that a simulator names when it is greeted.
    fn greet(&self, mut conversation: Conversation) -> Result<(Conversation, f64), String> {
        let greeting = Greeting { fpsrl: VERSION, states: &self.states, actions: &self.actions };
        let welcome: Welcome = conversation.ask(&greeting, 0)?;
        if !welcome.largest_reward.is_finite() {
            return Err("its `largest_reward` is not a finite number".into());
        }
        Ok((conversation, welcome.largest_reward))
    }

    /// One step of all live lanes.
    fn step(&self, lanes: &mut Lanes) -> Result<(), String> {
        let live = lanes.live();
        let row = |column: &dyn Fn(usize) -> f32, count: usize| -> Vec<f64> {
            (0..count).map(|index| f64::from(column(index))).collect()
        };
        let question = Question {
            states: (0..live).map(|lane| row(&|index| lanes.state(index)[lane], self.states.len())).collect(),
            actions: (0..live).map(|lane| row(&|index| lanes.action(index)[lane], self.actions.len())).collect(),
        };
        let _turn = self.alone.then(|| locked(&self.turn));
        let waiting = locked(&self.idle).pop();
        let mut conversation = match waiting {
            Some(conversation) => conversation,
            None => self.start_process().and_then(|conversation| self.greet(conversation))?.0,
        };
        let numbers = live * (self.states.len() + 3);
        let answer: Answer = conversation.ask(&question, numbers)?;
        let fits = answer.next_states.len() == live
            && answer.next_states.iter().all(|state| state.len() == self.states.len())
            && answer.rewards.len() == live
            && [answer.terminated.len(), answer.later_rewards.len()].iter().all(|count| *count == 0 || *count == live);
        if !fits {
            return Err(format!("it was asked for {live} rows, and answered with another number of them"));
        }
        let ended = answer.terminated.iter().zip(&answer.later_rewards).filter(|(ended, _)| **ended);
        let later = ended.map(|(_, later)| later);
        if answer.rewards.iter().chain(later).any(|reward| *reward > self.largest_reward) {
            return Err("a reward is larger than the `largest_reward` that it named".into());
        }
        let columns = lanes.columns();
        for (lane, state) in answer.next_states.iter().enumerate() {
            for (index, value) in state.iter().enumerate() {
                columns.states[index * columns.stride + lane] = *value as f32;
            }
            columns.rewards[lane] = answer.rewards[lane] as f32;
            columns.absorbed[lane] = if answer.terminated.get(lane) == Some(&true) { 1.0 } else { 0.0 };
            columns.later_rewards[lane] = answer.later_rewards.get(lane).copied().unwrap_or(0.0) as f32;
        }
        locked(&self.idle).push(conversation);
        Ok(())
    }
}

impl Conversation {
    /// Sends a line and reads one, which is to hold so many numbers.
    fn ask<T: serde::de::DeserializeOwned>(&mut self, question: &impl Serialize, numbers: usize) -> Result<T, String> {
        let mut line =
            serde_json::to_vec(question).map_err(|error| format!("a question has no form in JSON: {error}"))?;
        line.push(b'\n');
        let input = self.input.as_mut().ok_or("its input is closed")?;
        input
            .write_all(&line)
            .and_then(|()| input.flush())
            .map_err(|error| format!("it takes no question: {}", reason::told(&error)))?;
        let mut answer = String::new();
        let longest = LONGEST_LINE + LONGEST_NUMBER * numbers;
        let mut output = self.output.by_ref().take(longest as u64);
        output
            .read_line(&mut answer)
            .map_err(|error| format!("its answer cannot be read: {}", reason::told(&error)))?;
        if answer.len() == longest && !answer.ends_with('\n') {
            return Err(format!("its answer goes on beyond {longest} bytes without an end of the line"));
        }
        if answer.is_empty() {
            return Err("it ended instead of answering".into());
        }
        serde_json::from_str(&answer).map_err(|error| {
            let shown: String = answer.trim_end().chars().take(80).collect();
            format!("it answered `{shown}`, which was not understood: {error}")
        })
    }
}

impl Drop for Conversation {
    fn drop(&mut self) {
        // With its input closed it ends by itself; whoever does not is ended, so that none is left behind.
        self.input = None;
        if let Some(child) = &mut self.child {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

fn locked<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}

impl Simulator for ProcessWorld {
    fn check(&self) -> Result<()> {
        match &*locked(&self.fault) {
            Some(fault) => Err(self.error(fault.clone())),
            None => Ok(()),
        }
    }
}

impl World for ProcessWorld {
    fn state_count(&self) -> usize {
        self.states.len()
    }

    fn action_count(&self) -> usize {
        self.actions.len()
    }

    fn advance(&self, lanes: &mut Lanes, _: Numerics) {
        let broken = locked(&self.fault).is_some();
        let stepped = if broken { Err(String::new()) } else { self.step(lanes) };
        if let Err(fault) = stepped {
            locked(&self.fault).get_or_insert(fault);
            // Nothing more is to be had: all lanes end.
            let columns = lanes.columns();
            columns.rewards[..columns.live].fill(0.0);
            columns.absorbed[..columns.live].fill(1.0);
            columns.later_rewards[..columns.live].fill(0.0);
        }
    }

    fn largest_reward(&self) -> f64 {
        self.largest_reward
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use fpsrl_engine::simd::Mode;

    fn world(script: &str) -> Result<ProcessWorld> {
        let command = ["sh", "-c", script].map(str::to_owned);
        ProcessWorld::start(&command, &["level".to_owned()], &["valve".to_owned()], Permission::Allowed)
    }

    fn stepped(world: &ProcessWorld) -> Lanes {
        let mut lanes = Lanes::new(1, 1, 2);
        lanes.set_live(2);
        lanes.state_mut(0)[..2].copy_from_slice(&[1.5, 0.25]);
        lanes.action_mut(0)[..2].copy_from_slice(&[0.5, 1.0]);
        world.advance(&mut lanes, Numerics::detect(Mode::Fast));
        lanes
    }

    #[test]
    fn a_process_is_asked_and_its_answer_taken() {
        // It answers only what it should have been asked.
        let script = r#"read -r greeting
            [ "$greeting" = '{"fpsrl":1,"states":["level"],"actions":["valve"]}' ] || exit 1
            echo '{"largest_reward": 0}'
            read -r question
            [ "$question" = '{"states":[[1.5],[0.25]],"actions":[[0.5],[1.0]]}' ] || exit 1
            echo '{"next_states":[[1.75],[0.5]],"rewards":[-1,-2.5],"terminated":[false,true],"later_rewards":[0,-3]}'"#;
        let world = world(script).unwrap();
        assert_eq!(world.largest_reward(), 0.0);
        let lanes = stepped(&world);
        world.check().unwrap();
        assert_eq!(lanes.state(0)[..2], [1.75, 0.5]);
        assert_eq!((lanes.rewards(), lanes.absorbed()), ([-1.0, -2.5].as_slice(), [0.0, 1.0].as_slice()));
        assert_eq!(lanes.later_rewards()[1], -3.0);
        // The script is over now; the next step finds nobody, and says so.
        let lanes = stepped(&world);
        assert_eq!(lanes.absorbed(), [1.0, 1.0]);
        let error = world.check().unwrap_err();
        assert!(error.to_string().contains("the simulator"), "{error}");
        assert!(error.is_users() && error.hint().is_some());
    }

    #[test]
    fn nothing_is_started_without_a_permission() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("started");
        let command = ["touch".to_owned(), file.to_string_lossy().into_owned()];
        for (permission, started) in [(Permission::Refused, false), (Permission::Allowed, true)] {
            let error = ProcessWorld::start(&command, &[], &[], permission).err().unwrap();
            assert!(error.is_users());
            assert_eq!((file.exists(), error.to_string().contains("only if that is allowed")), (started, !started));
        }
        let command = ["sh", "-c", "echo \u{1b}[2J; reboot"].map(str::to_owned);
        let error = ProcessWorld::start(&command, &[], &[], Permission::default()).err().unwrap();
        assert!(error.to_string().contains(r"sh -c $'echo \x1b[2J; reboot'"), "{error}");
        assert_eq!(error.hint().unwrap(), "it may do whatever you may: if you trust it, allow it with `allow-process`");
    }

    #[test]
    fn a_simulator_at_the_other_ends_of_pipes_is_asked_until_it_falls_silent() {
        let said = "{\"largest_reward\":0}\n{\"next_states\":[[1],[2]],\"rewards\":[0,-1]}\n";
        let names = |name: &str| vec![name.to_owned()];
        let over = |said: Vec<u8>| {
            ProcessWorld::over("tank", std::io::Cursor::new(said), std::io::sink(), &names("level"), &names("valve"))
        };
        let world = over(said.into()).unwrap();
        assert_eq!(stepped(&world).state(0)[..2], [1.0, 2.0]);
        world.check().unwrap();
        assert_eq!(stepped(&world).absorbed(), [1.0, 1.0]);
        assert!(world.check().unwrap_err().to_string().contains("`tank`, but it ended instead of answering"));
        assert!(over(b"hello\n".to_vec()).err().unwrap().to_string().contains("it answered `hello`"));
    }

    #[test]
    fn a_line_without_an_end_is_refused_before_it_fills_the_memory() {
        let error = ProcessWorld::over("endless", std::io::repeat(b'1'), std::io::sink(), &[], &[]).err().unwrap();
        assert!(error.to_string().contains("goes on beyond 65536 bytes"), "{error}");
    }

    #[test]
    fn whoever_does_not_speak_json_is_refused() {
        let refused = |script: &str| world(script).err().unwrap().to_string();
        assert!(refused("read -r x; echo hello").contains("it answered `hello`"));
        let said = refused("exit 3");
        assert!(said.contains("it ended instead of answering") || said.contains("it takes no question"), "{said}");
        assert!(refused("read -r x; echo '{\"largest_reward\": null}'").contains("not understood"));
        let command = ["no-such-simulator".to_owned()];
        let error = ProcessWorld::start(&command, &[], &[], Permission::Allowed).err().unwrap().to_string();
        assert!(error.contains("it cannot be started"), "{error}");
        let few = "read -r x; echo '{\"largest_reward\":0}'; read -r x; echo '{\"next_states\":[[1]],\"rewards\":[0]}'; read -r x";
        let world = world(few).unwrap();
        stepped(&world);
        assert!(world.check().unwrap_err().to_string().contains("asked for 2 rows"));
        let later = "read -r x; echo '{\"largest_reward\":0}'; read -r x; echo '{\"next_states\":[[1],[1]],\"rewards\":[0,0],\
                     \"terminated\":[true,false],\"later_rewards\":[5,9]}'; read -r x";
        let world = self::world(later).unwrap();
        stepped(&world);
        assert!(world.check().unwrap_err().to_string().contains("larger than the `largest_reward`"));
        let much = "read -r x; echo '{\"largest_reward\":0}'; read -r x; echo '{\"next_states\":[[1],[1]],\"rewards\":[0,5]}'; read -r x";
        let world = self::world(much).unwrap();
        stepped(&world);
        assert!(world.check().unwrap_err().to_string().contains("larger than the `largest_reward`"));
    }
}
