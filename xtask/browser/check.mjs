// Looks at reports in a real browser. usage: node check.mjs PLAYWRIGHT DIRECTORY, which holds runs with their report.html.
//
// For each report, in both themes, on a phone and on a wide screen: nothing in the console, nothing asked of the network, no
// text that runs out of its place, sliders that move the pictures, an animation that plays, a keyboard that reaches everything.
// Screenshots are left beside the reports. Timings are printed, and decide nothing.
import assert from "node:assert/strict";
import { mkdtempSync, readdirSync, existsSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";

const [playwright, directory] = process.argv.slice(2);
const { chromium } = await import(pathToFileURL(join(resolve(playwright), "index.mjs")));
const LARGEST = 1.5e6;

async function open(report, viewport, colorScheme) {
  const profile = mkdtempSync(join(tmpdir(), "fpsrl-browser-"));
  const context = await chromium.launchPersistentContext(profile, {
    executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
    viewport,
    colorScheme,
    reducedMotion: "reduce",
    args: [
      "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
      "--disable-component-update", "--disable-sync",
    ],
  });
  const page = context.pages()[0] ?? (await context.newPage());
  // The machine may be busy with other things.
  page.setDefaultTimeout(120_000);
  const complaints = [];
  page.on("console", (message) => {
    if (["error", "warning"].includes(message.type())) complaints.push(message.text());
  });
  page.on("pageerror", (error) => complaints.push(String(error)));
  page.on("request", (request) => {
    if (request.url() !== pathToFileURL(report).href) complaints.push(`asks for ${request.url()}`);
  });
  page.on("dialog", (dialog) => {
    complaints.push(`a dialog: ${dialog.message()}`);
    dialog.dismiss();
  });
  const began = performance.now();
  await page.goto(pathToFileURL(report).href);
  await page.waitForSelector("html[data-ready]");
  const ready = performance.now() - began;
  const close = async () => {
    await context.close();
    rmSync(profile, { recursive: true, force: true });
  };
  return { page, complaints, ready, close };
}

// Elements whose text runs out of them, and is neither cut with an ellipsis nor scrolled on purpose.
function overflowing() {
  const texts = "h1,h2,h3,h4,p,li,th,td,label,button,figcaption,summary,output,.track-label,.condition,.verdict,.panel,.rule";
  const found = [];
  if (document.documentElement.scrollWidth > document.documentElement.clientWidth + 1) found.push("the page itself");
  for (const element of document.querySelectorAll(texts)) {
    if (element.closest(".scroll,.visually-hidden,pre")) continue;
    const style = getComputedStyle(element);
    if (style.overflowX !== "visible" || style.display === "inline") continue;
    if (element.scrollWidth > element.clientWidth + 2 && element.clientWidth > 0) {
      found.push(`${element.tagName}.${element.className}: ${element.textContent.slice(0, 40)}`);
    }
  }
  return found;
}

async function slidersMoveThePictures(page) {
  const sliders = await page.locator(".slider input[type=range]").count();
  const picture = () =>
    page.evaluate(() => [...document.querySelectorAll(".rulebook .state, .rulebook .level")].map((one) => one.outerHTML).join());
  for (let index = 0; index < Math.min(sliders, 5); index++) {
    // What only the world looks at has a slider that is not shown.
    if (!(await page.locator(`#slider-${index}`).isVisible())) continue;
    const before = await picture();
    const slider = page.locator(`#slider-${index}`);
    // A mode is a choice of words.
    if (await slider.evaluate((one) => one.tagName === "SELECT")) {
      await slider.selectOption({ index: await slider.evaluate((one) => (one.selectedIndex + 1) % one.options.length) });
      await page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));
      assert.notEqual(await picture(), before, `mode ${index} moves nothing`);
      continue;
    }
    await slider.focus();
    // Towards the further end: the page may begin with a state at one.
    const up = await slider.evaluate((range) => Number(range.value) < (Number(range.min) + Number(range.max)) / 2);
    const keys = up ? ["PageUp", "ArrowRight"] : ["PageDown", "ArrowLeft"];
    for (let press = 0; press < 25; press++) await page.keyboard.press(keys[press % 2]);
    await page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));
    assert.notEqual(await picture(), before, `slider ${index} moves nothing`);
    const same = await page.evaluate((at) => {
      const [range, number] = [document.getElementById(`slider-${at}`), document.getElementById(`number-${at}`)];
      return Math.abs(Number(range.value) - Number(number.value)) <= 2e-3 * (Number(range.max) - Number(range.min));
    }, index);
    assert.ok(same, "the number beside a slider is another");
  }
}

// Moves many sliders and looks how often a second everything is shown anew.
async function updatesPerSecond(page) {
  return page.evaluate(async () => {
    const sliders = [...document.querySelectorAll(".slider input[type=range]")];
    const began = performance.now();
    let frames = 0;
    let busy = 0;
    while (performance.now() - began < 1000) {
      const from = performance.now();
      const slider = sliders[frames % sliders.length];
      slider.value = String(Number(slider.min) + Math.random() * (slider.max - slider.min));
      slider.dispatchEvent(new Event("input", { bubbles: true }));
      await new Promise((done) => requestAnimationFrame(done));
      busy += performance.now() - from;
      frames += 1;
    }
    return Math.round((1000 * frames) / (performance.now() - began));
  });
}

async function theAnimationPlays(page) {
  await page.locator("#start").selectOption({ index: 0 });
  // All of the plant's drawing: of a cart in the middle of its picture, only the pole moves.
  const picture = () => page.evaluate(() => document.querySelector("#stage .body")
    ? document.getElementById("stage").innerHTML : document.querySelector(".cursor").getAttribute("transform"));
  const step = () => page.evaluate(() => Number(document.getElementById("step").value));
  assert.equal(await step(), 0);
  const last = await page.evaluate(() => Number(document.getElementById("step").max));
  await page.locator("#forward").click();
  assert.equal(await step(), Math.min(1, last));
  await page.locator("#back").click();
  assert.equal(await step(), 0);
  const before = await picture();
  await page.locator("#play").focus();
  await page.keyboard.press("Enter");
  await page.waitForFunction((want) => Number(document.getElementById("step").value) >= want, Math.min(5, last));
  // In one go: it may come to its end by itself at any moment.
  const stopped = await page.evaluate(() => {
    const play = document.getElementById("play");
    if (play.textContent === "Pause") play.click();
    return Number(document.getElementById("step").value);
  });
  if (last > 1) assert.notEqual(await picture(), before, "nothing has moved");
  await page.waitForTimeout(150);
  assert.equal(await step(), stopped, "it plays on after Pause");
  if (await page.locator('#start option[value="live"]').count()) {
    await page.locator("#start").selectOption("live");
    assert.ok((await page.evaluate(() => Number(document.getElementById("step").max))) > 0, "no live rollout");
  }
}

async function theKeyboardReachesEverything(page) {
  await page.evaluate(() => {
    document.activeElement?.blur();
    scrollTo(0, 0);
  });
  const wanted = await page.evaluate(() => {
    const all = [...document.querySelectorAll("a[href],button,input,select,summary")].filter((one) => !one.closest("[hidden]"));
    all.forEach((element, index) => (element.dataset.reach = String(index)));
    return all.length;
  });
  const reached = new Set();
  for (let press = 0; press < wanted + 12; press++) {
    await page.keyboard.press("Tab");
    const at = await page.evaluate(() => {
      const element = document.activeElement;
      const outline = element ? getComputedStyle(element).outlineStyle : "none";
      return [element?.dataset.reach, outline];
    });
    if (at[0] !== undefined) {
      assert.notEqual(at[1], "none", "what has the focus does not show it");
      reached.add(at[0]);
    }
  }
  assert.equal(reached.size, wanted, "the keyboard does not reach everything");
  const unnamed = await page.evaluate(() =>
    [...document.querySelectorAll("button,input,select,svg[role=img],canvas")]
      .filter((one) => !(one.getAttribute("aria-label") || one.labels?.length || one.textContent.trim()))
      .map((one) => one.outerHTML.slice(0, 80)),
  );
  assert.deepEqual(unnamed, [], "a screen reader has no name for something");
}

async function theMapIsDrawn(page) {
  await page.locator("#surface-map").scrollIntoViewIfNeeded();
  await page.waitForTimeout(200);
  const colours = () =>
    page.evaluate(() => {
      const canvas = document.getElementById("surface-map");
      const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
      const seen = new Set();
      for (let at = 0; at < data.length; at += 4) seen.add((data[at] << 16) | (data[at + 1] << 8) | data[at + 2]);
      return seen.size;
    });
  assert.ok((await colours()) > 8, "the map is empty");
  const axes = await page.locator("#surface-y option").count();
  if (axes > 2) {
    const before = await page.evaluate(() => document.getElementById("surface-map").toDataURL());
    await page.locator("#surface-y").selectOption({ index: axes - 1 });
    assert.notEqual(await page.evaluate(() => document.getElementById("surface-map").toDataURL()), before);
  }
}

async function namesAreOnlyText(page, run) {
  const found = await page.evaluate(() => {
    const data = JSON.parse(document.getElementById("run-data").textContent);
    const shown = [...document.querySelectorAll(".slider label bdi")].map((one) => one.textContent);
    return {
      names: data.states.map((state) => state.name),
      shown,
      executed: globalThis.executed ?? null,
      scripts: document.querySelectorAll("script").length,
      images: document.querySelectorAll("img,iframe,object,embed").length,
    };
  });
  // What turns the direction of writing, or hides, is shown by its number.
  const seen = (name) => name.replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, (sign) => `\\u{${sign.codePointAt(0).toString(16)}}`);
  assert.deepEqual(found.shown, found.names.map(seen), `${run}: names are shown otherwise than they are`);
  assert.equal(found.executed, null, "a name has been executed");
  assert.deepEqual([found.scripts, found.images], [2, 0], "markup came out of a name");
}

const runs = readdirSync(directory).filter((name) => existsSync(join(directory, name, "report.html"))).sort();
assert.ok(runs.length > 0, `no report in ${directory}`);
for (const run of runs) {
  const report = resolve(directory, run, "report.html");
  const size = statSync(report).size;
  assert.ok(size < LARGEST, `${run}: ${size} bytes`);
  const times = [];
  let updates = 0;
  for (const [device, viewport] of [["phone", { width: 360, height: 740 }], ["wide", { width: 1600, height: 1000 }]]) {
    for (const theme of ["light", "dark"]) {
      const { page, complaints, ready, close } = await open(report, viewport, theme);
      times.push(ready);
      const said = `${run}, ${device}, ${theme}`;
      const misfits = () => page.evaluate(overflowing);
      assert.deepEqual(await misfits(), [], `${said}: text does not fit`);
      await namesAreOnlyText(page, run);
      if (theme === "light") {
        await slidersMoveThePictures(page);
        await theAnimationPlays(page);
        await theMapIsDrawn(page);
        await theKeyboardReachesEverything(page);
        if (device === "wide") updates = await updatesPerSecond(page);
      }
      const weak = page.locator("button.show").first();
      if (await weak.count()) {
        await weak.click();
        await page.waitForTimeout(50);
        assert.notEqual(await page.locator("#instructive").inputValue(), "");
      }
      assert.deepEqual(await misfits(), [], `${said}: text does not fit any more`);
      // Whatever is drawn only when it is seen has been seen.
      await page.evaluate(async () => {
        for (let y = 0; y < document.body.scrollHeight; y += 700) {
          scrollTo(0, y);
          await new Promise((done) => setTimeout(done, 20));
        }
        scrollTo(0, 0);
      });
      await page.screenshot({ path: join(directory, `${run}-${device}-${theme}.png`), fullPage: true });
      assert.deepEqual(complaints, [], said);
      await close();
    }
  }
  const fastest = Math.round(Math.min(...times));
  console.log(`${run}: ${Math.round(size / 1024)} KiB, ready after ${fastest} ms, ${updates} slider updates a second`);
}
