// Debian's Chromium, and what holds of every page: accessible in both schemes (axe-core), nothing wider than
// the window, nothing that the browser refused or a script threw.
import {execFileSync} from "node:child_process";
import {mkdirSync, readFileSync} from "node:fs";
import {join} from "node:path";
import {packages} from "./packages.mjs";

const {chromium} = packages("playwright-core");
const axe = readFileSync(packages.resolve("axe-core/axe.min.js"), "utf8");

export const widths = [360, 800, 1400];
// Pictures of every page that is looked at, if a folder is named.
const shots = process.env.PARTITA_SHOTS;

export async function startBrowser() {
  const executablePath = execFileSync("sh", ["-c", "command -v chromium"], {encoding: "utf8"}).trim();
  return chromium.launch({
    executablePath,
    args: ["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE localhost"]
  });
}

// `clock`: "real" for a server whose times are.
export async function openPage(browser, address, {clock, ...options} = {}) {
  const context = await browser.newContext({
    viewport: {width: 1400, height: 900},
    timezoneId: "Europe/Vienna",
    locale: "en-GB",
    reducedMotion: "reduce",
    baseURL: address,
    ...options
  });
  context.setDefaultTimeout(20_000);
  const page = await context.newPage();
  if (clock !== "real") await page.clock.setFixedTime(new Date("2026-11-27T12:00:00Z"));
  const complaints = [];
  page.on("pageerror", (error) => complaints.push(`a script threw: ${error.stack}`));
  page.on("console", (message) => {
    // Answers above 399 are told there, too; the tests look at what the page makes of them.
    if (message.type() === "error" && !/Failed to load resource/.test(message.text())) complaints.push(message.text());
  });
  page.on("request", (request) => {
    if (!request.url().startsWith(address) && !request.url().startsWith("data:,")) complaints.push(`asked for ${request.url()}`);
  });
  return {page, context, complaints, clicks: countClicks(page)};
}

// Counts what a person clicks, while it is on.
function countClicks(page) {
  let clicks = 0;
  return {
    start: () => {
      clicks = 0;
    },
    click: async (target) => {
      clicks += 1;
      await target.click();
    },
    count: () => clicks
  };
}

const kRules = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"];

// Parts of pages that were looked at already, by their text and markup.
const seen = new Set();

async function axeFaults(page, runOnly, again) {
  if (!(await page.evaluate("'axe' in window"))) await page.evaluate(axe);
  const parts = await page.evaluate(() => {
    window.parts = [...document.querySelectorAll("header.bar, main section, main form, main li.card")];
    return window.parts.map((part) => part.outerHTML);
  });
  const known = parts.map((part) => !again && seen.has(part));
  const faults = await page.evaluate(
    async ([rules, skip]) => {
      const exclude = window.parts.filter((_, i) => skip[i]);
      const options = {runOnly: rules, resultTypes: ["violations"], preload: false};
      const {violations} = await window.axe.run({include: [document], exclude}, options);
      return violations.flatMap(({id, nodes}) => nodes.map((node) => `${id}: ${node.target} ${node.failureSummary}`));
    },
    [runOnly, known]
  );
  for (const part of parts) seen.add(part);
  return faults;
}

async function layoutFaults(page) {
  return page.evaluate(() => {
    const found = [];
    const wide = document.documentElement.clientWidth;
    if (document.documentElement.scrollWidth > wide) found.push(`the page is ${document.documentElement.scrollWidth} wide`);
    for (const element of document.querySelectorAll("main *, header *")) {
      if (element.closest(".table, .file, .unseen")) continue;
      const box = element.getBoundingClientRect();
      if (box.width && box.right > wide + 1) found.push(`outside: ${element.tagName} ${element.textContent.slice(0, 40)}`);
    }
    // WCAG 2.2, 2.5.8: what is pressed is at least 24 pixels high and wide, links in text apart.
    for (const element of document.querySelectorAll("button, input, select, summary, nav a")) {
      const box = element.getBoundingClientRect();
      if (box.width && (box.height < 24 || box.width < 24) && !element.closest("label")) found.push(`too small: ${element.tagName} ${element.textContent}`);
    }
    return found;
  });
}

// All that is wrong with the page as it is now, one line each. What a page has in common with one before is not
// looked at anew. `more`: also at the middle width and in the dark scheme, for pages that have a piece which no
// other one has.
export async function look(page, name, more) {
  const found = [];
  const size = page.viewportSize();
  for (const width of more || shots ? widths : [widths[0], widths[2]]) {
    await page.setViewportSize({width, height: 900});
    for (const fault of await layoutFaults(page)) found.push(`${name}, ${width} px: ${fault}`);
    if (shots) {
      mkdirSync(shots, {recursive: true});
      await page.screenshot({path: join(shots, `${name}-${width}.png`), fullPage: true});
    }
  }
  await page.setViewportSize(size);
  for (const fault of await axeFaults(page, kRules, false)) found.push(`${name}: ${fault}`);
  if (!more && !shots) return found;
  await page.emulateMedia({colorScheme: "dark"});
  for (const fault of await axeFaults(page, {type: "rule", values: ["color-contrast"]}, true))
    found.push(`${name}, dark: ${fault}`);
  if (shots) await page.screenshot({path: join(shots, `${name}-dark.png`), fullPage: true});
  await page.emulateMedia({colorScheme: "light"});
  return found;
}
