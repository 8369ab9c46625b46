// A learned world of one network for each variable, as in crates/fpsrl-world/src/model.rs.
import { act, wrapAngle } from "./policy.js";

// The prediction of one network for physical inputs, in physical units.
export function predict(part, inputs) {
  let values = inputs.map((value, index) => (value - part.inputs[index][0]) / part.inputs[index][1]);
  const last = part.layers.length - 1;
  part.layers.forEach((layer, index) => {
    const width = values.length;
    values = layer.biases.map((bias, output) => {
      let sum = 0;
      for (let input = 0; input < width; input++) sum += layer.weights[output * width + input] * values[input];
      sum += bias;
      return index === last ? sum : Math.atan(sum);
    });
  });
  return values[0] * part.output[1] + part.output[0];
}

// What is applied of an action: actuators move only so fast, and set-points have limits of their own.
export function applied(world, state, action) {
  const result = [...action];
  for (const { action: index, last, limits, rate } of world.actuators) {
    const before = state[last];
    const within = (value) => Math.min(Math.max(value, limits[0]), limits[1]);
    result[index] =
      rate === null
        ? within(before + action[index]) - before
        : within(Math.min(Math.max(action[index], before - rate), before + rate));
  }
  return result;
}

// One step: the next state, the reward, and that of every later step if the next state is absorbing, else null.
export function step(world, state, wanted) {
  const before = [...state, ...applied(world, state, wanted)];
  const next = world.variables.map((part, variable) => {
    const moved = state[variable] + predict(part, before);
    return part.angle ? wrapAngle(moved) : moved;
  });
  const region = world.regions.find((one) =>
    one.bounds.every(([variable, above, at]) => (above ? next[variable] > at : next[variable] < at)),
  );
  if (region) return { next, reward: region.reward, later: region.later_reward };
  const [lowest, highest] = world.reward_limits;
  const reward = predict(world.reward, [...before, ...next]);
  return { next, reward: Number.isNaN(reward) ? lowest : Math.min(Math.max(reward, lowest), highest), later: null };
}

// What happens from a start on, in the form of the trajectories that come with the page.
export function rollout(world, policy, start, horizon, discount) {
  const states = [start];
  const actions = [];
  let value = 0;
  let weight = 1;
  let later = null;
  for (let count = 0; count < horizon; count++) {
    if (later !== null) {
      value += weight * later;
    } else {
      const state = states[states.length - 1];
      const action = applied(world, state, policy.actions.map((base) => act(policy.states, base, state)));
      const outcome = step(world, state, action);
      states.push(outcome.next);
      actions.push(action);
      value += weight * outcome.reward;
      later = outcome.later;
    }
    weight *= discount;
  }
  return { states, actions, absorbed: later !== null, value };
}
