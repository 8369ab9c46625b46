// The modules by themselves: statements that need neither a browser nor the library.
import test from "node:test";
import assert from "node:assert/strict";
import { act, alone, condition, logMembership, shares, sharesOf, wrapAngle } from "../policy.js";
import { formatNumber, ticks, withUnit } from "../format.js";
import { pose } from "../plant.js";
import { surfaceGrid } from "../surface.js";
import { settled, toldValue } from "../inputs.js";
import { trackPath, trackRange } from "../player.js";

const states = [{}, {}, { periodic: true }];
const base = {
  limits: [-2, 2],
  alpha: 3,
  rules: [
    { centre: [0, 1, 0.5], width: [1, 0.5, 2], output: 0.9 },
    { centre: [0, -1, 0], width: [0.7, 0.5, 1e18], output: -0.8 },
  ],
};

test("far from every centre the nearest rule decides, and nothing is divided by zero", () => {
  assert.ok(Math.abs(act(states, base, [0, 1e6, 0]) - alone(base, 0)) < 1e-12);
  assert.ok(Number.isFinite(act(states, base, [1e300, -1e300, 1e300])));
  assert.ok(Number.isFinite(logMembership(states, base.rules[0], [1e300, 0, 0])));
  assert.deepEqual(sharesOf([-1e307, -1e307]), [0.5, 0.5]);
});

test("the map of the action is the action", () => {
  const ranges = [[-2, 2], [-3, 3], [-5, 5]];
  // The last number is none that the rules see.
  const state = [0.3, -0.2, 0.4, 7];
  for (const [across, up] of [[0, 1], [2, 0], [1, 1]]) {
    const cells = 9;
    const grid = surfaceGrid(states, base, ranges, state, across, up, cells);
    for (let row = 0; row < cells; row++) {
      for (let column = 0; column < cells; column++) {
        const at = (variable, index) => ranges[variable][0] + ((ranges[variable][1] - ranges[variable][0]) * (index + 0.5)) / cells;
        const moved = [...state];
        moved[up] = at(up, row);
        moved[across] = at(across, column);
        assert.ok(Math.abs(grid[row * cells + column] - act(states, base, moved)) < 1e-12);
      }
    }
  }
});

test("what the rules do not see changes nothing", () => {
  const state = [0.3, -0.2, 0.4];
  assert.equal(act(states, base, [...state, 1e9]), act(states, base, state));
});

test("shares add up to one", () => {
  const found = shares(states, base, [0.1, 0.2, 0.3]);
  assert.ok(Math.abs(found[0] + found[1] - 1) < 1e-15);
});

test("numbers are short and have a true minus sign", () => {
  assert.equal(formatNumber(-0.012345), "\u22120.0123");
  assert.equal(formatNumber(31), "31");
  assert.equal(formatNumber(1234567), "1.23e6");
  assert.equal(formatNumber(-1.5e-9), "\u22121.50e\u22129");
  assert.equal(formatNumber(-0), "0");
  assert.equal(withUnit(2, ""), "2");
  assert.equal(withUnit(-6e-7, "N", [-10, 10]), "0 N");
  assert.deepEqual(ticks([-1.2, 0.6], 4), [-1, -0.5, 0, 0.5]);
  assert.deepEqual(ticks([1, 1], 4), []);
});

test("a rule around half a turn holds on both sides of it, and turns away", () => {
  const rule = { centre: [3], width: [0.5] };
  const near = Math.exp(-0.5 * ((2 * Math.PI - 6.1) / 0.5) ** 2);
  for (const value of [-3.1, -3.1 + 2 * Math.PI, -3.1 - 4 * Math.PI]) {
    assert.ok(Math.abs(condition({ periodic: true }, rule, 0, value) - near) < 1e-12);
  }
  assert.ok(condition({}, rule, 0, -3.1) < 1e-30);
});

test("angles stay within a turn", () => {
  for (const angle of [-10, -Math.PI, 0, 3, 4, 1000]) {
    const wrapped = wrapAngle(angle);
    assert.ok(Math.abs(wrapped) <= Math.PI + 1e-9);
    assert.ok(Math.abs(Math.sin(wrapped) - Math.sin(angle)) < 1e-9);
  }
});

test("a pole that leans to the right is drawn so", () => {
  const ranges = [[-0.7, 0.7], [-3, 3], [-2.4, 2.4], [-3, 3]];
  const drawn = pose("cart-pole-balancing", ranges, [0.5, 0, 0, 0]);
  assert.deepEqual([drawn.body, drawn.pole, drawn.velocity], ["translate(80.00 62)", "rotate(28.65)", ""]);
  const car = pose("mountain-car", [[-1.2, 0.6], [-3, 3]], [0, 1]);
  assert.match(car.body, /rotate\(-/);
  assert.match(car.velocity, /^M0 0H8\.67/);
});

test("a line of an angle is interrupted where it turns over", () => {
  const path = trackPath([3, 3.1, -3.1, -3], (step) => step, (value) => value, true);
  assert.equal(path.match(/M/g).length, 2);
  assert.deepEqual(trackRange([[1, 1]]).map((value) => Math.sign(value - 1)), [-1, 1]);
  const [low, high] = trackRange([[0, 1e-9]], [-1, 1]);
  assert.ok(high - low > 0.1, "noise is drawn as if it were motion");
});

test("an error follows its state and its set-point, and a mode has its word", () => {
  const inputs = [{}, {}, { derived: { error: { state: 0, set_point: 1 } } }, { derived: { sum: { error: 2, limit: 9 } } }];
  assert.deepEqual(settled(inputs, [19, 21, 0, 4, 7]), [19, 21, 2, 4, 7]);
  assert.equal(toldValue({ unit: "", values: ["COMFORT", "ECO"] }, 1), "ECO");
  assert.equal(toldValue({ unit: "degC", values: [] }, 1.5), "1.5 degC");
  assert.equal(toldValue({ unit: "" }, -2), "\u22122");
});
