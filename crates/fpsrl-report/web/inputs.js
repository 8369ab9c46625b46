// Inputs that are no plain numbers: errors that follow from a state and its set-point, and modes that have words.
import { withUnit } from "./format.js";

// The state with each error as its state and its set-point make it. A running sum keeps what it has: it is the past's.
export function settled(states, state) {
  const result = [...state];
  states.forEach(({ derived }, index) => {
    if (derived?.error) result[index] = result[derived.error.set_point] - result[derived.error.state];
  });
  return result;
}

// A value as people say it: the word of a mode, or a number with its unit.
export function toldValue(variable, value, range) {
  return variable.values?.[Math.round(value)] ?? withUnit(value, variable.unit, range);
}
