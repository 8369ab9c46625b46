// How the parts of a plant's drawing lie in a state: the same poses as crates/fpsrl/src/explain/prototype.rs draws.

const DRAWING_WIDTH = 160;
const DRAWING_HEIGHT = 100;
const LONGEST_ARROW = 26;

function between(value, low, high) {
  return Math.min(Math.max(value, low), high);
}

function hillHeight(plant, position) {
  if (plant === "mountain-car-textbook") return Math.sin(3 * position) / 3;
  return position < 0 ? position * position + position : position / Math.sqrt(1 + 5 * position * position);
}

function arrowPath(share) {
  const length = LONGEST_ARROW * share;
  if (Math.abs(length) < 1) return "";
  const head = 4 * Math.sign(length);
  return `M0 0H${length.toFixed(2)}m${-head} -3l${head} 3l${-head} 3`;
}

// Attributes of the parts that move: transforms of body and pole, paths of the arrows.
export function pose(plant, ranges, state) {
  const share = (variable) => {
    const largest = Math.max(Math.abs(ranges[variable][0]), Math.abs(ranges[variable][1]));
    return between(state[variable] / largest, -1, 1);
  };
  if (plant.startsWith("mountain-car")) {
    const [low, high] = ranges[0];
    const heights = Array.from({ length: 61 }, (_, index) => hillHeight(plant, low + ((high - low) * index) / 60));
    const [lowest, highest] = [Math.min(...heights), Math.max(...heights)];
    const across = (value) => 10 + ((value - low) / (high - low)) * (DRAWING_WIDTH - 20);
    const up = (height) => DRAWING_HEIGHT - 14 + ((height - lowest) / (highest - lowest)) * (30 - DRAWING_HEIGHT + 14);
    const position = between(state[0], low, high);
    const small = 1e-3 * (high - low);
    const rise = up(hillHeight(plant, position + small)) - up(hillHeight(plant, position - small));
    const run = across(position + small) - across(position - small);
    const tilt = (Math.atan2(rise, run) * 180) / Math.PI;
    const [x, y] = [across(position), up(hillHeight(plant, position))];
    return {
      body: `translate(${x.toFixed(2)} ${y.toFixed(2)}) rotate(${tilt.toFixed(2)})`,
      pole: "",
      velocity: arrowPath(share(1)),
      turning: "",
    };
  }
  const [low, high] = ranges[2];
  const x = between(22 + ((state[2] - low) / (high - low)) * (DRAWING_WIDTH - 44), 22, DRAWING_WIDTH - 22);
  return {
    body: `translate(${x.toFixed(2)} 62)`,
    pole: `rotate(${((state[0] * 180) / Math.PI).toFixed(2)})`,
    velocity: arrowPath(share(3)),
    turning: arrowPath(share(1)),
  };
}

// Moves a drawing.
export function movePlant(svg, plant, ranges, state) {
  const { body, pole, velocity, turning } = pose(plant, ranges, state);
  const set = (selector, attribute, value) => svg.querySelector(selector)?.setAttribute(attribute, value);
  set(".body", "transform", body);
  set(".velocity", "d", velocity);
  set(".pole", "transform", pole);
  set(".turning", "d", turning);
}
