// Runs an exported controller over the states that come in, a line a state.
import { readFileSync } from "node:fs";
import { pathToFileURL } from "node:url";

const { Controller, STATES, ACTIONS } = await import(pathToFileURL(process.argv[2]));
const words = { inf: Infinity, "-inf": -Infinity, NaN: NaN };
const { sums } = JSON.parse(readFileSync(process.argv[3], "utf8"));
const controller = new Controller();
const lines = readFileSync(0, "utf8").split("\n").filter((line) => line !== "");
const out = lines.map((line) => {
  const numbers = line.split(" ").map((word) => words[word] ?? Number(word));
  if (sums > 0 && numbers.shift() > 0) controller.reset();
  const result = controller.step(Object.fromEntries(STATES.map((name, j) => [name, numbers[j]])));
  return ACTIONS.map((name) => String(result[name])).concat(result.outside ? "1" : "0").join(" ");
});
process.stdout.write(`${out.join("\n")}\n`);
