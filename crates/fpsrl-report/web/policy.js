// A fuzzy policy, as policy.json holds it: equations 2 and 4 of the paper, as in crates/fpsrl/src/policy/fuzzy.rs.

// An angle, moved by whole turns as near to another as they can bring it: into [-pi, pi] if that is 0.
export function wrapAngle(angle, to = 0) {
  const turn = 2 * Math.PI;
  const turns = (angle - to) / turn;
  // Halves are rounded away from zero.
  return angle - turn * Math.sign(turns) * Math.round(Math.abs(turns));
}

// How far a value is from a rule's centre, in widths: for an angle, the shorter way around.
export function distanceTo(quantity, rule, variable, value) {
  const difference = value - rule.centre[variable];
  return (quantity.periodic ? wrapAngle(difference) : difference) / rule.width[variable];
}

// How far one condition of a rule holds.
export function condition(quantity, rule, variable, value) {
  const distance = distanceTo(quantity, rule, variable, value);
  return Math.exp(-0.5 * distance * distance);
}

// The logarithm of a rule's membership; `states` are the policy's. A state may hold more than the rules see, after what they see. Squares of far states may not be finite; any rule is as good as another then.
export function logMembership(states, rule, state) {
  let sum = 0;
  for (let variable = 0; variable < rule.centre.length; variable++) {
    const distance = distanceTo(states[variable], rule, variable, state[variable]);
    sum += distance * distance;
  }
  return Math.max(-0.5 * sum, -Number.MAX_VALUE / 4);
}

// How much each rule has to say: logarithms of memberships to shares, relative to the largest.
export function sharesOf(logs) {
  const largest = Math.max(...logs);
  const memberships = logs.map((log) => Math.exp(log - largest));
  const total = memberships.reduce((sum, membership) => sum + membership, 0);
  return memberships.map((membership) => membership / total);
}

export function shares(states, base, state) {
  return sharesOf(base.rules.map((rule) => logMembership(states, rule, state)));
}

// The action for what stands before the hyperbolic tangent: scaled, and cut off at the limits.
function limited(base, before) {
  const [low, high] = base.limits;
  const reach = base.reach ?? 1;
  const action = 0.5 * (low + high) + 0.5 * (high - low) * reach * Math.tanh(before);
  return reach > 1 ? Math.min(Math.max(action, low), high) : action;
}

// The action that comes of the rules' shares.
export function actionOf(base, given) {
  let wanted = 0;
  for (let rule = 0; rule < given.length; rule++) wanted += given[rule] * base.rules[rule].output;
  return limited(base, base.alpha * wanted);
}

// The action of one rule base in a state.
export function act(states, base, state) {
  return actionOf(base, shares(states, base, state));
}

// The action that a rule takes when it alone is active.
export function alone(base, rule) {
  return limited(base, base.alpha * base.rules[rule].output);
}
