// The page's arithmetic against the library's. `cargo run --release -p fpsrl-bench --bin page_reference FILE` writes what is compared;
// FPSRL_REFERENCE names that file.
import test from "node:test";
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { act, shares } from "../policy.js";
import { rollout, step } from "../world.js";

const path = process.env.FPSRL_REFERENCE;
const reference = path ? JSON.parse(readFileSync(path, "utf8")) : null;
const options = { skip: reference ? false : "FPSRL_REFERENCE names no file" };

test("actions are those of the library in ten thousand states, with extreme parameters too", options, () => {
  let compared = 0;
  let largest = 0;
  assert.ok(reference.policies.some(({ policy }) => policy.states.some((state) => state.periodic)), "no angle");
  for (const { policy, states, actions } of reference.policies) {
    states.forEach((state, index) => {
      policy.actions.forEach((base, action) => {
        const difference = Math.abs(act(policy.states, base, state) - actions[index][action]);
        assert.ok(difference <= 1e-5, `${difference} in ${JSON.stringify(state)}`);
        largest = Math.max(largest, difference);
        assert.ok(Math.abs(shares(policy.states, base, state).reduce((sum, share) => sum + share, 0) - 1) < 1e-12);
      });
      compared += 1;
    });
  }
  assert.ok(compared >= 10_000, `only ${compared} states`);
  console.log(`${compared} states, largest difference of an action ${largest.toExponential(1)}`);
});

test("steps of the world are those of the library", options, () => {
  let [compared, largest, absorbed] = [0, 0, 0];
  for (const { world, steps } of reference.worlds) {
    for (const { state, action, next, reward, later } of steps) {
      const found = step(world, state, action);
      found.next.forEach((value, variable) => {
        const difference = Math.abs(value - next[variable]) / (1 + Math.abs(next[variable]));
        assert.ok(difference <= 1e-9, `${difference} from ${JSON.stringify(state)}`);
        largest = Math.max(largest, difference);
      });
      assert.ok(Math.abs(found.reward - reward) <= 1e-9, `${found.reward} instead of ${reward}`);
      assert.equal(found.later, later);
      absorbed += later === null ? 0 : 1;
      compared += 1;
    }
  }
  assert.ok(compared >= 2_000 && absorbed > 10, `${compared} steps, ${absorbed} of them absorbed`);
  console.log(`${compared} steps, largest relative difference of a state ${largest.toExponential(1)}`);
});

test("rollouts earn what the library says", options, () => {
  for (const { world, policy, horizon, discount, rollouts } of reference.worlds) {
    for (const { start, value, steps } of rollouts) {
      const found = rollout(world, policy, start, horizon, discount);
      // The library rolls out in single precision, so that an arrival may come a step earlier or later.
      assert.ok(Math.abs(found.value - value) <= 0.02 * (1 + Math.abs(value)), `${found.value} instead of ${value}`);
      assert.ok(Math.abs(found.actions.length - steps) <= 2, `${found.actions.length} steps instead of ${steps}`);
    }
  }
});
