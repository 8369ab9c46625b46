// The control surface: the action over two inputs as a map, with the log, the trajectory and the state on it.
import { actionOf, distanceTo, sharesOf } from "./policy.js";
import { formatNumber, ticks } from "./format.js";
import { toldValue } from "./inputs.js";

const SURFACE_CELLS = 72;

// The action on a grid over two inputs, row by row from below; the other inputs as in the state.
export function surfaceGrid(states, base, ranges, state, across, up, cells) {
  const values = new Float64Array(cells * cells);
  const at = (variable, index) => ranges[variable][0] + ((ranges[variable][1] - ranges[variable][0]) * (index + 0.5)) / cells;
  const square = (rule, variable, value) => distanceTo(states[variable], rule, variable, value) ** 2;
  // What does not change over the grid, or only along one side of it, is computed once.
  const parts = base.rules.map((rule) => {
    let fixed = 0;
    rule.centre.forEach((_, variable) => {
      if (variable !== across && variable !== up) fixed += square(rule, variable, state[variable]);
    });
    const along = (variable) => Array.from({ length: cells }, (_, index) => square(rule, variable, at(variable, index)));
    return { fixed, x: along(across), y: across === up ? new Array(cells).fill(0) : along(up) };
  });
  for (let row = 0; row < cells; row++) {
    for (let column = 0; column < cells; column++) {
      const logs = parts.map((part) => Math.max(-0.5 * (part.fixed + part.x[column] + part.y[row]), -Number.MAX_VALUE / 4));
      values[row * cells + column] = actionOf(base, sharesOf(logs));
    }
  }
  return values;
}

// A colour between two ends with a light (or dark) middle; share runs from -1 to 1.
function surfaceColour(share, dark) {
  const strength = Math.abs(share) ** 0.8;
  const middle = dark ? [38, 43, 51] : [247, 246, 242];
  const end = share < 0 ? (dark ? [92, 150, 222] : [43, 99, 176]) : dark ? [224, 142, 74] : [201, 108, 30];
  return middle.map((from, index) => Math.round(from + (end[index] - from) * strength));
}

export class Surface {
  constructor(canvas, caption, run) {
    Object.assign(this, { canvas, caption, run, across: 0, up: Math.min(1, run.states.length - 1), action: 0 });
    this.dark = matchMedia("(prefers-color-scheme: dark)");
    this.trajectory = null;
    this.state = null;
  }

  draw() {
    const { canvas, run, across, up, state } = this;
    if (!state) return;
    const dark = this.dark.matches && !this.printing;
    // As many pixels as it is shown with, so that lines are sharp.
    const shown = canvas.clientWidth || 560;
    const scale = Math.min(window.devicePixelRatio || 1, 2);
    const width = shown;
    const height = Math.round(shown * 0.72);
    if (canvas.width !== Math.round(width * scale)) {
      canvas.width = Math.round(width * scale);
      canvas.height = Math.round(height * scale);
    }
    const context = canvas.getContext("2d");
    context.setTransform(scale, 0, 0, scale, 0, 0);
    const ink = dark ? "#e4e7ec" : "#1c2430";
    context.clearRect(0, 0, width, height);
    const box = { left: 54, top: 10, right: width - 64, bottom: height - 40 };
    const ranges = run.states.map((variable) => variable.range);
    const base = run.policy.actions[this.action];
    const [low, high] = base.limits;
    const values = surfaceGrid(run.policy.states, base, ranges, state, across, up, SURFACE_CELLS);
    const x = (value) => box.left + ((value - ranges[across][0]) / (ranges[across][1] - ranges[across][0])) * (box.right - box.left);
    const y = (value) => box.bottom - ((value - ranges[up][0]) / (ranges[up][1] - ranges[up][0])) * (box.bottom - box.top);

    const image = new ImageData(SURFACE_CELLS, SURFACE_CELLS);
    const shareOf = (value) => (2 * (value - low)) / (high - low) - 1;
    values.forEach((value, index) => {
      const row = SURFACE_CELLS - 1 - Math.floor(index / SURFACE_CELLS);
      const to = 4 * (row * SURFACE_CELLS + (index % SURFACE_CELLS));
      const [red, green, blue] = surfaceColour(shareOf(value), dark);
      image.data.set([red, green, blue, 255], to);
    });
    this.buffer ??= Object.assign(document.createElement("canvas"), { width: SURFACE_CELLS, height: SURFACE_CELLS });
    this.buffer.getContext("2d").putImageData(image, 0, 0);
    context.imageSmoothingEnabled = true;
    context.drawImage(this.buffer, box.left, box.top, box.right - box.left, box.bottom - box.top);

    context.save();
    context.beginPath();
    context.rect(box.left, box.top, box.right - box.left, box.bottom - box.top);
    context.clip();
    context.fillStyle = dark ? "rgba(255,255,255,.34)" : "rgba(20,28,40,.30)";
    for (const row of run.sample) context.fillRect(x(row[across]) - 0.8, y(row[up]) - 0.8, 1.6, 1.6);
    this.drawMiddle(context, values, box, ink, shareOf);
    if (this.trajectory) {
      context.strokeStyle = ink;
      context.lineWidth = 1.2;
      context.beginPath();
      let before = null;
      for (const row of this.trajectory.states) {
        // An angle that jumps by a turn is not drawn across the map.
        const jumps = before && [across, up].some((v) => run.states[v].angle && Math.abs(row[v] - before[v]) > Math.PI);
        if (before && !jumps) context.lineTo(x(row[across]), y(row[up]));
        else context.moveTo(x(row[across]), y(row[up]));
        before = row;
      }
      context.stroke();
    }
    context.strokeStyle = ink;
    context.lineWidth = 2;
    context.beginPath();
    for (const row of run.weak) {
      const [px, py] = [x(row[across]), y(row[up])];
      context.moveTo(px - 5, py - 5);
      context.lineTo(px + 5, py + 5);
      context.moveTo(px + 5, py - 5);
      context.lineTo(px - 5, py + 5);
    }
    context.stroke();
    context.restore();

    for (const [radius, colour, line] of [[7, dark ? "#14171c" : "#fff", 4.5], [7, dark ? "#ff8d7e" : "#c0392b", 2.5]]) {
      context.strokeStyle = colour;
      context.lineWidth = line;
      context.beginPath();
      context.arc(
        Math.min(Math.max(x(state[across]), box.left), box.right),
        Math.min(Math.max(y(state[up]), box.top), box.bottom),
        radius, 0, 2 * Math.PI,
      );
      context.stroke();
    }
    this.drawScales(context, box, ranges, x, y, ink, dark, base, height);
    const fixed = run.states
      .slice(0, run.policy.states.length)
      .map((variable, index) => [variable, index])
      .filter(([, index]) => index !== across && index !== up)
      .map(([variable, index]) => `${variable.name} ${toldValue(variable, state[index])}`);
    this.caption.textContent = fixed.length ? `The other inputs: ${fixed.join(", ")}.` : "";
  }

  // Where the action is in the middle of its limits: edges between cells on either side.
  drawMiddle(context, values, box, ink, shareOf) {
    const [cellWidth, cellHeight] = [(box.right - box.left) / SURFACE_CELLS, (box.bottom - box.top) / SURFACE_CELLS];
    context.strokeStyle = ink;
    context.lineWidth = 2.2;
    context.lineCap = "round";
    context.beginPath();
    const at = (column, row) => shareOf(values[row * SURFACE_CELLS + column]);
    // Marching squares over the centres of the cells.
    for (let row = 0; row + 1 < SURFACE_CELLS; row++) {
      for (let column = 0; column + 1 < SURFACE_CELLS; column++) {
        const corners = [[column, row], [column + 1, row], [column + 1, row + 1], [column, row + 1]];
        const points = [];
        for (let side = 0; side < 4; side++) {
          const [from, to] = [corners[side], corners[(side + 1) % 4]];
          const [a, b] = [at(...from), at(...to)];
          if (a < 0 === b < 0) continue;
          const share = a / (a - b);
          points.push([from[0] + share * (to[0] - from[0]), from[1] + share * (to[1] - from[1])]);
        }
        for (let pair = 0; pair + 1 < points.length; pair += 2) {
          for (const [index, [px, py]] of [points[pair], points[pair + 1]].entries()) {
            const place = [box.left + (px + 0.5) * cellWidth, box.bottom - (py + 0.5) * cellHeight];
            if (index === 0) context.moveTo(...place);
            else context.lineTo(...place);
          }
        }
      }
    }
    context.stroke();
  }

  drawScales(context, box, ranges, x, y, ink, dark, base, height) {
    const { run, across, up } = this;
    context.strokeStyle = ink;
    context.fillStyle = ink;
    context.lineWidth = 1;
    context.strokeRect(box.left, box.top, box.right - box.left, box.bottom - box.top);
    context.font = "12px system-ui, sans-serif";
    context.textBaseline = "middle";
    context.textAlign = "right";
    for (const tick of ticks(ranges[up], 5)) context.fillText(formatNumber(tick), box.left - 6, y(tick));
    context.textAlign = "center";
    for (const tick of ticks(ranges[across], 6)) context.fillText(formatNumber(tick), x(tick), box.bottom + 12);
    const label = (variable) => {
      const name = variable.name.length > 30 ? `${variable.name.slice(0, 29)}\u2026` : variable.name;
      return variable.unit ? `${name} in ${variable.unit.slice(0, 12)}` : name;
    };
    context.fillText(label(run.states[across]), (box.left + box.right) / 2, height - 9, box.right - box.left);
    context.save();
    context.translate(11, (box.top + box.bottom) / 2);
    context.rotate(-Math.PI / 2);
    context.fillText(label(run.states[up]), 0, 0, box.bottom - box.top);
    context.restore();
    const bar = { left: box.right + 12, width: 12 };
    const rows = 60;
    for (let row = 0; row < rows; row++) {
      const [red, green, blue] = surfaceColour((2 * (row + 0.5)) / rows - 1, dark);
      context.fillStyle = `rgb(${red},${green},${blue})`;
      const size = (box.bottom - box.top) / rows;
      context.fillRect(bar.left, box.bottom - (row + 1) * size, bar.width, size + 0.5);
    }
    context.fillStyle = ink;
    context.textAlign = "left";
    const [low, high] = base.limits;
    for (const [value, place] of [[low, box.bottom - 6], [(low + high) / 2, (box.top + box.bottom) / 2], [high, box.top + 6]]) {
      context.fillText(formatNumber(value), bar.left + bar.width + 4, place, 34);
    }
  }
}
