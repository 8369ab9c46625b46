// The page: one current state, which the sliders, the list, the player and the map all move and all show.
import { actionOf, alone, condition, shares, wrapAngle } from "./policy.js";
import { movePlant } from "./plant.js";
import { formatNumber, withUnit } from "./format.js";
import { settled } from "./inputs.js";
import { Surface } from "./surface.js";
import { Player } from "./player.js";

// The plot inside of a picture's cell, as crates/fpsrl/src/explain/picture.rs draws it.
const CELL_LEFT = 8;
const CELL_RIGHT = 152;
const CELL_TOP = 9;
const CELL_BASE = 62;

function cellPlace(value, [low, high], periodic) {
  const shown = periodic ? wrapAngle(value, (low + high) / 2) : value;
  const share = Math.min(Math.max((shown - low) / (high - low), 0), 1);
  return CELL_LEFT + share * (CELL_RIGHT - CELL_LEFT);
}

// The parts of the pictures that move, looked up once.
function findPictures(run) {
  return run.policy.actions.map((base, action) => {
    const box = document.querySelector(`.rules-of[data-action="${action}"]`);
    const rules = [...box.querySelectorAll(".rule[data-rule]")].map((row) => ({
      say: row.querySelector(".say output"),
      fill: row.querySelector(".say .fill"),
      share: row.querySelector(".wish .share"),
      row,
      cells: [...row.querySelectorAll(".cell[data-variable]")].map((cell) => ({
        variable: Number(cell.dataset.variable),
        modes: [...cell.querySelectorAll(".mode")],
        level: cell.querySelector(".level"),
        line: cell.querySelector(".state"),
        shown: NaN,
      })),
    }));
    const together = box.querySelector(".together");
    return {
      base,
      rules,
      shares: [...together.querySelectorAll(".share")],
      line: together.querySelector(".state"),
      result: together.querySelector(".condition output"),
      spoken: together.querySelector(".spoken"),
      reading: document.getElementById(`action-${action}`),
    };
  });
}

// Who has the say, in words, as crates/fpsrl/src/report/rules.rs says it of the first state.
export function spokenShares(base, say) {
  const order = say.map((_, rule) => rule).sort((a, b) => say[b] - say[a]);
  const parts = order
    .slice(0, 3)
    .map((rule) => `rule ${rule + 1} has ${Math.round(100 * say[rule])} % of the say and wants ${withUnit(alone(base, rule), base.unit, base.limits)}`);
  return `In this state ${parts.join("; ")}.`;
}

function showPictures(pictures, run, state) {
  for (const { base, rules, shares: columns, line, result, spoken, reading } of pictures) {
    const say = shares(run.policy.states, base, state);
    const action = actionOf(base, say);
    const height = (share) => share * (CELL_BASE - CELL_TOP);
    const setColumn = (element, share) => {
      element.setAttribute("y", (CELL_BASE - height(share)).toFixed(2));
      element.setAttribute("height", height(share).toFixed(2));
    };
    rules.forEach((rule, index) => {
      rule.say.textContent = `${Math.round(100 * say[index])} %`;
      rule.fill.style.width = `${(100 * say[index]).toFixed(1)}%`;
      setColumn(rule.share, say[index]);
      setColumn(columns[index], say[index]);
      rule.cells.forEach((cell) => {
        const { variable } = cell;
        // A slider moves one input: the other inputs' pictures stay as they are.
        if (cell.shown === state[variable]) return;
        cell.shown = state[variable];
        const quantity = run.policy.states[variable];
        if (quantity.values?.length) {
          // The head stands at the mode's line, if that is listed.
          const line = cell.modes.find((mode) => Number(mode.dataset.mode) === state[variable]);
          cell.line.setAttribute("visibility", line ? "visible" : "hidden");
          if (line) cell.line.setAttribute("transform", line.getAttribute("transform"));
          return;
        }
        const holds = condition(quantity, base.rules[index], variable, state[variable]);
        cell.level.setAttribute("y", (CELL_BASE - height(holds)).toFixed(2));
        const place = cellPlace(state[variable], run.states[variable].range, quantity.periodic);
        cell.line.setAttribute("transform", `translate(${place.toFixed(2)} 0)`);
      });
    });
    line.setAttribute("transform", `translate(${cellPlace(action, base.limits).toFixed(2)} 0)`);
    spoken.textContent = spokenShares(base, say);
    const text = withUnit(action, base.unit, base.limits);
    result.textContent = text;
    reading.textContent = text;
  }
}

function startPage() {
  const run = JSON.parse(document.getElementById("run-data").textContent);
  const element = (id) => document.getElementById(id);
  const ranges = run.states.map((variable) => variable.range);
  const pictures = findPictures(run);
  const plant = element("live-plant");
  const surface = new Surface(element("surface-map"), element("surface-caption"), run);
  // A mode is a choice without a number, an error a number without a slider.
  const sliders = run.states.map((_, index) => ({ range: element(`slider-${index}`), number: element(`number-${index}`) }));
  let state = run.instructive[run.example].state;
  surface.across = Number(element("surface-x").value);
  surface.up = Number(element("surface-y").value);

  // Several moves within a frame are shown once.
  let waiting = false;
  const refresh = () => {
    waiting = false;
    showPictures(pictures, run, state);
    if (plant) movePlant(plant, run.plant, ranges, state);
    surface.state = state;
    if (surface.visible) surface.draw();
  };
  const show = () => {
    if (!waiting) {
      waiting = true;
      requestAnimationFrame(refresh);
    }
  };
  const readable = (value) => String(Number(value.toPrecision(4)));
  const setState = (next, from) => {
    const before = state;
    state = [...next];
    sliders.forEach((slider, index) => {
      // A number that somebody is writing is left as it is; so is what has not changed.
      if (from === undefined ? false : state[index] === before[index]) return;
      if (slider.range && from !== slider.range) slider.range.value = String(state[index]);
      if (slider.number && from !== slider.number) {
        slider.number.value = slider.range ? readable(state[index]) : formatNumber(state[index]);
      }
    });
    show();
  };
  const list = element("instructive");
  sliders.forEach((slider, index) => {
    for (const input of [slider.range, slider.number]) {
      if (!input || input.tagName === "OUTPUT") continue;
      input.addEventListener("input", () => {
        const value = Number(input.value);
        if (input.value === "" || !Number.isFinite(value)) return;
        list.value = "";
        // What is remembered of a variable moves along: it has been there for a while.
        const moved = state.map((old, at) => (at === index || run.states[at].of === index ? value : old));
        setState(settled(run.policy.states, moved), input);
      });
    }
  });

  const player = new Player(
    run,
    {
      play: element("play"), back: element("back"), forward: element("forward"), step: element("step"),
      start: element("start"), speed: element("speed"), shown: element("step-shown"), outcome: element("outcome"),
      tracks: element("tracks"), stage: element("stage"),
    },
    (next) => {
      list.value = "";
      setState(next);
    },
    () => state,
  );
  // Takes a state of the list, with what follows from it.
  const take = (index) => {
    const one = run.instructive[index];
    setState(one.state);
    list.value = String(index);
    if (one.trajectory) player.load(index, true);
    else if (run.world) player.load("live", true);
    surface.trajectory = player.trajectory;
    show();
  };
  list.addEventListener("change", () => {
    if (list.value !== "") take(Number(list.value));
  });
  for (const button of document.querySelectorAll("button.show")) {
    button.addEventListener("click", () => {
      take(Number(button.dataset.instructive));
      document.getElementById("rules").scrollIntoView();
      list.focus({ preventScroll: true });
    });
  }
  element("start").addEventListener("change", () => {
    surface.trajectory = player.trajectory;
    show();
  });
  for (const [id, key] of [["surface-x", "across"], ["surface-y", "up"], ["surface-action", "action"]]) {
    element(id).addEventListener("change", (event) => {
      surface[key] = Number(event.target.value);
      surface.draw();
    });
  }
  // The map is drawn while it can be seen, so that moving sliders costs nothing for it elsewhere.
  new IntersectionObserver((entries) => {
    surface.visible = entries[entries.length - 1].isIntersecting;
    if (surface.visible) surface.draw();
  }, { rootMargin: "100px" }).observe(surface.canvas);
  new ResizeObserver(() => surface.draw()).observe(surface.canvas);
  surface.dark.addEventListener("change", () => surface.draw());
  addEventListener("beforeprint", () => {
    surface.printing = true;
    surface.draw();
  });
  addEventListener("afterprint", () => {
    surface.printing = false;
    surface.draw();
  });

  player.load(run.instructive.findIndex((one) => one.trajectory), true);
  take(run.example);
  document.documentElement.dataset.ready = "yes";
}

if (typeof document !== "undefined") startPage();
