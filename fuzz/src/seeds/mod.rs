//! Valid files of every kind that is read, made by fpsrl itself and by the writers of its formats.

pub mod logs;
pub mod rules;
pub mod runs;

/// A problem file that says something in every section.
pub const PROBLEM: &str = "\
format = 1
name = 'tank'
seed = 3
horizon = 20
discount_q = 0.05
start = 'data'
[[state]]
name = 'level'
unit = 'm'
column = ['level', 'LI7']
tracks = 'wanted'
integral = true
keep = [0.0, 2.0]
[[state]]
name = 'heading'
angle = 'degrees'
start = [-0.5, 0.5]
[[input]]
name = 'wanted'
[[input]]
name = 'mode'
values = ['DAY', 'NIGHT']
[[action]]
name = 'valve'
limits = [0.0, 1.0]
rate = 0.2
move_cost = 0.1
[[objective]]
name = 'energy'
cost = 'valve * valve'
weight = 0.5
[data]
file = ['log.csv', 'more.csv']
time = 't'
history = 2
missing = ['Bad']
[world]
reward = '-abs(level - wanted)'
terminal = 'level > 3'
members = 3
layers = 1
epochs = 5
kind = 'ensemble'
judge = 0.2
noise = 'log'
[policy]
rules = 3
front = true
[search]
optimiser = 'swarm'
particles = 10
iterations = 5
ring = 2
start_states = 5
patience = 'none'
caution = 0.5
outlook = 'worst'
[evaluation]
start_states = 5
";

/// A problem of a simulator.
pub const SIMULATED: &str = "\
name = 'sim'
horizon = 30
[[state]]
name = 'level'
start = [0.0, 1.0]
[[action]]
name = 'valve'
limits = [0.0, 1.0]
[world]
process = ['python3', 'simulator.py']
[search]
budget = '5m'
";
