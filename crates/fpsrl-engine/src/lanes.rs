//! A block of rollouts that advance together, as a structure of arrays.

/// Lanes are padded to a multiple of this many, so that every kernel may run over whole groups of vectors.
/// Two vectors of the widest instruction set, AVX-512.
pub const PADDING: usize = 32;

/// A block of lanes: each is one rollout with its own state.
///
/// Columns are padded with lanes that hold harmless numbers. Kernels compute on them, nothing reads the result.
/// Everything is allocated once; a rollout allocates nothing.
#[derive(Clone, Debug)]
pub struct Lanes {
    live: usize,
    stride: usize,
    states: Vec<f32>,
    actions: Vec<f32>,
    rewards: Vec<f32>,
    absorbed: Vec<f32>,
    later_rewards: Vec<f32>,
    scratch: Vec<f32>,
}

/// The columns of [`Lanes`], borrowed apart from each other for a kernel.
///
/// `states` and `actions` hold one column of `stride` numbers for each variable, one after another.
#[derive(Debug)]
pub struct Columns<'a> {
    /// Lanes that count; those after them are padding.
    pub live: usize,
    /// Length of a column, a multiple of [`PADDING`].
    pub stride: usize,
    /// States, `stride` numbers for each variable.
    pub states: &'a mut [f32],
    /// Actions, `stride` numbers for each action.
    pub actions: &'a mut [f32],
    /// The reward of the last step.
    pub rewards: &'a mut [f32],
    /// 1 for a lane that the last step absorbed, else 0.
    pub absorbed: &'a mut [f32],
    /// Of a lane that the last step absorbed: the reward of every step from then on.
    pub later_rewards: &'a mut [f32],
    /// Room for whatever a kernel must put down in between.
    pub scratch: &'a mut Vec<f32>,
}

impl Lanes {
    /// Room for `capacity` lanes.
    pub fn new(state_count: usize, action_count: usize, capacity: usize) -> Self {
        let stride = capacity.next_multiple_of(PADDING).max(PADDING);
        Self {
            live: 0,
            stride,
            states: vec![0.0; state_count * stride],
            actions: vec![0.0; action_count * stride],
            rewards: vec![0.0; stride],
            absorbed: vec![0.0; stride],
            later_rewards: vec![0.0; stride],
            scratch: Vec::new(),
        }
    }

    /// Number of state variables.
    pub fn state_count(&self) -> usize {
        self.states.len() / self.stride
    }

    /// How many lanes fit.
    pub fn capacity(&self) -> usize {
        self.stride
    }

    /// Number of lanes that are still rolling.
    pub fn live(&self) -> usize {
        self.live
    }

    /// Declares the first `live` lanes as rolling.
    ///
    /// # Panics
    /// If there is no room for so many.
    pub fn set_live(&mut self, live: usize) {
        assert!(live <= self.stride, "{live} lanes in room for {}", self.stride);
        self.live = live;
    }

    /// The column of a state variable, padding included.
    pub fn state(&self, variable: usize) -> &[f32] {
        &self.states[variable * self.stride..][..self.stride]
    }

    /// The column of a state variable, to be written.
    pub fn state_mut(&mut self, variable: usize) -> &mut [f32] {
        &mut self.states[variable * self.stride..][..self.stride]
    }

    /// The column of an action, padding included.
    pub fn action(&self, action: usize) -> &[f32] {
        &self.actions[action * self.stride..][..self.stride]
    }

    /// The column of an action, to be written.
    pub fn action_mut(&mut self, action: usize) -> &mut [f32] {
        &mut self.actions[action * self.stride..][..self.stride]
    }

    /// Rewards of the last step.
    pub fn rewards(&self) -> &[f32] {
        &self.rewards[..self.live]
    }

    /// 1 for each lane that the last step absorbed, else 0.
    pub fn absorbed(&self) -> &[f32] {
        &self.absorbed[..self.live]
    }

    /// Of each lane that the last step absorbed: the reward of every step from then on. Of others it means nothing.
    pub fn later_rewards(&self) -> &[f32] {
        &self.later_rewards[..self.live]
    }

    /// All columns at once, for a kernel.
    pub fn columns(&mut self) -> Columns<'_> {
        Columns {
            live: self.live,
            stride: self.stride,
            states: &mut self.states,
            actions: &mut self.actions,
            rewards: &mut self.rewards,
            absorbed: &mut self.absorbed,
            later_rewards: &mut self.later_rewards,
            scratch: &mut self.scratch,
        }
    }

    /// Ends a lane: the last live lane takes its place.
    pub fn retire(&mut self, lane: usize) {
        let last = self.live - 1;
        for column in self.states.chunks_exact_mut(self.stride).chain(self.actions.chunks_exact_mut(self.stride)) {
            column[lane] = column[last];
        }
        self.rewards[lane] = self.rewards[last];
        self.absorbed[lane] = self.absorbed[last];
        self.later_rewards[lane] = self.later_rewards[last];
        self.absorbed[last] = 0.0;
        self.live = last;
    }
}
