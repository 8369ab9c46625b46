// The player: a trajectory step by step, as the plant in motion and as lines over time.
import { shares } from "./policy.js";
import { rollout } from "./world.js";
import { movePlant } from "./plant.js";
import { formatNumber } from "./format.js";
import { toldValue } from "./inputs.js";

const TRACK_WIDTH = 600;
const TRACK_HEIGHT = 72;
const SVG_NAMESPACE = "http://www.w3.org/2000/svg";

export function svgElement(name, attributes, ...children) {
  const element = document.createElementNS(SVG_NAMESPACE, name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  element.append(...children);
  return element;
}

// The points of a line as the path of an SVG element; angles that jump by a turn interrupt it.
export function trackPath(values, x, y, angle) {
  let path = "";
  values.forEach((value, index) => {
    const jumps = angle && index > 0 && Math.abs(value - values[index - 1]) > Math.PI;
    path += `${index === 0 || jumps ? "M" : "L"}${x(index).toFixed(1)} ${y(value).toFixed(1)}`;
  });
  return path;
}

// The range that a track shows: that of its values, but not so narrow that noise looks like motion.
export function trackRange(lists, [lowest, highest] = [0, 0]) {
  let [low, high] = [Infinity, -Infinity];
  for (const list of lists) {
    for (const value of list) {
      if (value < low) low = value;
      if (value > high) high = value;
    }
  }
  if (!(high >= low)) return [0, 1];
  const narrow = 0.05 * (highest - lowest) || (high > low ? 0 : 2);
  if (high - low < narrow) [low, high] = [(low + high - narrow) / 2, (low + high + narrow) / 2];
  const margin = 0.08 * (high - low);
  return [low - margin, high + margin];
}

export class Player {
  // `show` is called with the state of each step.
  constructor(run, parts, show, chosen) {
    Object.assign(this, { run, parts, show, chosen, at: 0, playing: false, trajectory: null, truth: null });
    parts.play.addEventListener("click", () => this.toggle());
    parts.back.addEventListener("click", () => this.go(this.at - 1, true));
    parts.forward.addEventListener("click", () => this.go(this.at + 1, true));
    parts.step.addEventListener("input", () => this.go(Number(parts.step.value), true));
    parts.start.addEventListener("change", () => this.load(parts.start.value));
  }

  // Takes a trajectory up: one that came with the page, or one from the sliders' state.
  load(which, quietly) {
    this.pause();
    const { run, parts } = this;
    if (which === "live") {
      const live = rollout(run.world, run.policy, this.chosen(), run.horizon, run.discount);
      this.trajectory = live;
      this.truth = null;
    } else {
      this.trajectory = run.instructive[which].trajectory;
      this.truth = run.instructive[which].truth;
    }
    parts.start.value = String(which);
    parts.step.max = String(this.trajectory.states.length - 1);
    const steps = this.trajectory.actions.length;
    const earned = formatNumber(this.trajectory.value);
    const truth = this.truth ? `, on the true plant ${formatNumber(this.truth.value)}` : "";
    parts.outcome.textContent = this.trajectory.absorbed
      ? `Ends for good after ${steps} steps. Return ${earned}${truth}.`
      : `Goes on to the end of the ${steps} steps. Return ${earned}${truth}.`;
    this.drawTracks();
    this.go(0, !quietly);
  }

  go(step, tell) {
    if (!this.trajectory) return;
    const last = this.trajectory.states.length - 1;
    this.at = Math.min(Math.max(step, 0), last);
    const state = this.trajectory.states[this.at];
    this.parts.step.value = String(this.at);
    this.parts.shown.textContent = `${this.at} of ${last}`;
    if (this.parts.stage) movePlant(this.parts.stage, this.run.plant, this.run.states.map((one) => one.range), state);
    const x = this.place(this.at).toFixed(1);
    for (const cursor of this.cursors) cursor.setAttribute("transform", `translate(${x} 0)`);
    for (const [output, text] of this.readings) output.textContent = text(this.at);
    if (tell) this.show(state);
  }

  place(step) {
    return (TRACK_WIDTH * step) / Math.max(this.trajectory.states.length - 1, 1);
  }

  toggle() {
    if (this.playing) this.pause();
    else this.start();
  }

  start() {
    if (!this.trajectory) return;
    if (this.at >= this.trajectory.states.length - 1) this.go(0, true);
    this.playing = true;
    this.parts.play.textContent = "Pause";
    let [before, rest] = [null, 0];
    const frame = (now) => {
      if (!this.playing) return;
      // Twenty steps a second at speed 1.
      if (before !== null) rest += ((now - before) / 50) * Number(this.parts.speed.value);
      before = now;
      const whole = Math.floor(rest);
      if (whole > 0) {
        rest -= whole;
        this.go(this.at + whole, true);
      }
      if (this.at >= this.trajectory.states.length - 1) this.pause();
      else requestAnimationFrame(frame);
    };
    requestAnimationFrame(frame);
  }

  pause() {
    this.playing = false;
    this.parts.play.textContent = "Play";
  }

  // A line for each input and action, and a band for each rule base.
  drawTracks() {
    const { run, trajectory, truth, parts } = this;
    parts.tracks.replaceChildren();
    this.cursors = [];
    this.readings = [];
    run.policy.actions.forEach((base) => {
      const say = trajectory.states.map((state) => shares(run.policy.states, base, state));
      const whose = run.policy.actions.length > 1 ? ` on ${base.name}` : "";
      const name = `who has the say${whose}, rule 1 lowest`;
      const bands = svgElement("g", {});
      let below = say.map(() => 0);
      base.rules.forEach((rule, index) => {
        const above = below.map((value, step) => value + say[step][index]);
        const y = (value) => TRACK_HEIGHT - value * TRACK_HEIGHT;
        const upper = above.map((value, step) => `${this.place(step).toFixed(1)} ${y(value).toFixed(1)}`);
        const lower = below.map((value, step) => `${this.place(step).toFixed(1)} ${y(value).toFixed(1)}`).reverse();
        bands.append(svgElement("path", { class: `band band-${index % 6}`, d: `M${[...upper, ...lower].join("L")}Z` }));
        below = above;
      });
      const strongest = (step) => {
        const best = say[step].indexOf(Math.max(...say[step]));
        return `rule ${best + 1}, ${Math.round(100 * say[step][best])} %`;
      };
      this.addTrack(name, bands, strongest, "bands");
    });
    run.policy.actions.forEach((base, index) => {
      const values = trajectory.actions.map((row) => row[index]);
      if (values.length) values.push(values[values.length - 1]);
      this.addLines(base.name, base.unit, base.limits, [[values, "track"]], false, (step) => values[step]);
    });
    run.states.forEach((variable, index) => {
      // What is remembered has been shown already, some steps before.
      if (variable.memory) return;
      const values = trajectory.states.map((row) => row[index]);
      const lists = [[values, "track"]];
      if (truth) lists.unshift([truth.states.slice(0, values.length).map((row) => row[index]), "track truth"]);
      this.addLines(variable.name, variable.unit, variable.range, lists, variable.angle, (step) => values[step], variable.values);
    });
  }

  addLines(name, unit, range, lists, angle, reading, modes) {
    const [low, high] = trackRange(lists.map(([values]) => values), range);
    const y = (value) => TRACK_HEIGHT - ((value - low) / (high - low)) * TRACK_HEIGHT;
    const group = svgElement("g", {});
    if (low < 0 && high > 0) group.append(svgElement("path", { class: "grid", d: `M0 ${y(0).toFixed(1)}H${TRACK_WIDTH}` }));
    for (const [values, kind] of lists) {
      group.append(svgElement("path", { class: kind, d: trackPath(values, (step) => this.place(step), y, angle) }));
    }
    this.addTrack(name, group, (step) => toldValue({ unit, values: modes }, reading(step) ?? 0, range), "");
  }

  addTrack(name, content, reading, kind) {
    const cursor = svgElement("line", { class: "cursor", y1: 0, y2: TRACK_HEIGHT });
    const svg = svgElement(
      "svg",
      { viewBox: `0 0 ${TRACK_WIDTH} ${TRACK_HEIGHT}`, preserveAspectRatio: "none", role: "img", "aria-label": `${name} over time`, class: kind },
      content,
      cursor,
    );
    const heading = document.createElement("span");
    heading.className = "track-name";
    const bidi = document.createElement("bdi");
    bidi.textContent = name;
    heading.append(bidi);
    const output = document.createElement("span");
    output.className = "track-value";
    const row = document.createElement("div");
    row.className = "track-row";
    const label = document.createElement("div");
    label.className = "track-label";
    label.append(heading, output);
    row.append(label, svg);
    this.parts.tracks.append(row);
    this.cursors.push(cursor);
    this.readings.push([output, reading]);
  }
}
