// Three sites as their people use them: real nodes, signers and pages (sites.mjs), each with a browser window of
// its own. From no folder to a result, then whatever may go wrong, looked at on every site's page; commands,
// clicks and files that a person handles are counted.
// Works in PARTITA_SITES_FOLDER with the program PARTITA_PROGRAM; PARTITA_PAGES_BUNDLE names a bundle of pages to
// be shown instead of the program's, and PARTITA_SHOTS a folder for pictures, to look at.
import assert from "node:assert/strict";
import {readdirSync, readFileSync, statSync, writeFileSync} from "node:fs";
import {join} from "node:path";
import {after, before, test} from "node:test";
import {look, openPage, startBrowser} from "./browser.mjs";
import {fileOf, password, patients, phrase, startSite, studyText} from "./sites.mjs";

const work = process.env.PARTITA_SITES_FOLDER;
const bundle = process.env.PARTITA_PAGES_BUNDLE;
const kNames = ["north", "west", "south"];
const kRows = {north: 40, west: 30, south: 25};

let browser;
const sites = {}; // by name
const windows = {}; // of the stewards, by site; north's analyst is "analyst"
const faults = [];

before(async () => {
  browser = await startBrowser();
});
after(async () => {
  await browser?.close();
  await Promise.all(Object.values(sites).map((site) => site.stop()));
});

// A step that fails says what every window shows.
const step = (name, walk) =>
  test(name, async () => {
    try {
      await walk();
    } catch (error) {
      for (const [who, {page}] of Object.entries(windows))
        error.message += `\n${who}: ${await page.locator("main").innerText().catch(() => "no page")}`;
      throw error;
    }
  });

const each = (act) => Promise.all(kNames.map((name) => act(name, windows[name]?.page, windows[name])));
const heading = (page, name) => page.getByRole("heading", {level: 1, name}).waitFor();
const button = (page, name) => page.getByRole("button", {name, exact: true});
const shown = (page, text) => page.getByText(text).first().waitFor();
const secret = (page) => page.getByLabel("Passphrase of the steward's key");
const visit = (page, fragment) => page.goto(`/#/${fragment}`);
const see = async (who, what) => faults.push(...(await look(windows[who].page, `${who}-${what}`)));

// Windows are looked at one after the other: each is resized while it is.
let looking = Promise.resolve();
const seeAll = (what, names = kNames) => {
  looking = looking.then(async () => {
    for (const name of names) await see(name, what);
  });
  return looking;
};

async function openAt(name, who) {
  const window = await openPage(browser, sites[name].pages, {clock: "real", ignoreHTTPSErrors: true});
  if (bundle) {
    const {policy, assets} = JSON.parse(readFileSync(bundle, "utf8"));
    await window.page.route(`${sites[name].pages}/`, (route) =>
      route.fulfill({
        body: assets[0].bytes,
        headers: {"Content-Type": assets[0].type, "Content-Security-Policy": policy}
      })
    );
  }
  windows[who] = window;
  await window.page.goto("/");
  return window;
}

// The first heading of a study's page, once it is there.
const openStudy = async (page, title) => {
  await visit(page, "studies");
  await page.getByLabel("Which").selectOption("all");
  await page.getByRole("link", {name: title}).click();
  await heading(page, title);
};

step("a new site: two commands, no copied file, one line of its settings", async () => {
  await Promise.all(
    kNames.map(async (name, i) => {
      const site = await startSite(process.env.PARTITA_PROGRAM, work, name, patients(i + 1, kRows[name]));
      sites[name] = site;
      site.pages = `https://localhost:${site.web}`;
      assert.equal(site.commands.length, 2, site.commands.join("\n"));
    })
  );
});

step("the first accounts are made with the code", async () => {
  await each(async (name) => {
    const {page} = await openAt(name, name);
    await heading(page, "Set up");
    await shown(page, `The node of ${name}`);
  });
  await seeAll("setup", ["west"]);
  await each(async (name, page) => {
    await page.getByLabel("Set-up code").fill(sites[name].code);
    await page.getByRole("textbox", {name: "Account"}).fill("anna");
    await page.getByLabel(/^Steward/).check();
    await page.getByLabel("Password", {exact: true}).fill(password);
    await page.getByLabel("The password again").fill(password);
    await button(page, "Make the account").click();
    await heading(page, "Inbox");
    await shown(page, "anna, steward");
  });
  await seeAll("inbox-empty", ["north"]);
  const {page} = windows.north;
  await visit(page, "accounts");
  await page.getByLabel("Account", {exact: true}).fill("bert");
  await page.getByLabel(/^Analyst/).check();
  await page.getByLabel("First password").fill(password);
  await page.getByRole("form", {name: "New account"}).getByLabel("Your own password").fill(password);
  await button(page, "Make the account").click();
  await shown(page, "The account bert is there.");
  await seeAll("accounts", ["north"]);
  const {page: analyst} = await openAt("north", "analyst");
  await heading(analyst, "Log in");
  await seeAll("login", ["analyst"]);
  await analyst.getByRole("textbox", {name: "Account"}).fill("bert");
  await analyst.getByLabel("Password").fill(password);
  await button(analyst, "Log in").click();
  await heading(analyst, "Inbox");
  await shown(analyst, "Nothing waits for you.");
});

// By mail the line, by telephone the digits.
async function meet(inviter, joiner, looks) {
  const [first, second] = [windows[inviter].page, windows[joiner].page];
  await visit(first, "parties");
  await first.getByLabel("Name of the site").fill(joiner);
  await button(first, "Make a line").click();
  const line = await first.getByRole("region", {name: "Line of the invitation"}).innerText();
  if (looks) await seeAll("invited", [inviter]);
  await first.getByRole("link", {name: "Go on: compare digits"}).click();
  await shown(first, `${joiner} has not come yet.`);
  if (looks) await seeAll("pairing-open", [inviter]);
  await visit(second, "parties");
  await second.getByLabel("The line that the other site sent").fill(line);
  await button(second, "Connect").click();
  const spoken = async (page) => (await page.locator(".spoken").innerText()).replace(/\s/g, "");
  const digits = [await spoken(first), await spoken(second)];
  assert.match(digits[0], /^[0-9]{6}$/);
  assert.notEqual(digits[0], digits[1]);
  if (looks) await seeAll("pairing-digits", [joiner]);
  const type = async (page, other, heard) => {
    await page.getByLabel(`Digits of ${other}`).fill(heard);
    await button(page, "Compare").click();
    await shown(page, "The digits that were typed here agree.");
  };
  await type(first, joiner, digits[1]);
  await type(second, inviter, digits[0]);
  const confirm = async (page, other) => {
    await secret(page).fill(phrase);
    await button(page, `Confirm ${other}`).click();
  };
  await confirm(first, joiner);
  await shown(first, `It waits until a steward of ${joiner} confirms, too.`);
  if (looks) await seeAll("pairing-waiting", [inviter]);
  await confirm(second, inviter);
  for (const [page, other] of [[first, joiner], [second, inviter]]) {
    await button(page, `Put ${other} on the list`).click();
    await shown(page, `${other} is a party of this site.`);
  }
  if (looks) await seeAll("pairing-listed", [joiner]);
}

step("sites meet by digits, and by introduction", async () => {
  await meet("north", "west", true);
  await meet("north", "south", false);
  await Promise.all(
    [["west", "south"], ["south", "west"]].map(async ([name, other]) => {
      const {page} = windows[name];
      await visit(page, "");
      await page.getByRole("link", {name: other}).click();
      await shown(page, "north says: digits compared on");
    })
  );
  await seeAll("introduced", ["west"]);
  await Promise.all(
    [["west", "south"], ["south", "west"]].map(async ([name, other]) => {
      const {page} = windows[name];
      await button(page, `Accept ${other} …`).click();
      await secret(page).fill(phrase);
      await button(page, `Accept ${other}`).click();
      await shown(page, "on the word of north");
      assert.equal(await page.getByText("Invitations under way").count(), 0);
    })
  );
  await seeAll("parties", ["west"]);
  await each(async (name, page) => {
    await visit(page, "");
    await shown(page, "Nothing waits for you.");
  });
  for (const name of kNames)
    assert.equal(sites[name].commands.length, 2, "all of it in the pages");
  // Whatever a site has it made itself; only the line went from one to the other.
  const own = /^(north|west|south)(-steward|-patients\.csv)?$/;
  assert.deepEqual(readdirSync(work).filter((file) => !own.test(file)), []);
});

// As a person would: two clicks and a passphrase.
async function approve(name, title) {
  const {page, clicks} = windows[name];
  await visit(page, "");
  const link = page.getByRole("link", {name: title});
  await link.waitFor();
  clicks.start();
  await clicks.click(link);
  await heading(page, title);
  await secret(page).fill(phrase);
  await clicks.click(button(page, "Approve"));
  await button(page, "Approve").waitFor({state: "detached"});
  assert.equal(clicks.count(), 2);
}

step("a study: one command of the analyst, two clicks and a passphrase of each steward", async () => {
  const title = "Days in hospital by age and dose";
  writeFileSync(join(work, "study.toml"), studyText("recovery", title));
  const before = sites.north.commands.length;
  const run = sites.north.typed(["study", "run", "study.toml", "--at", "north", "--output", "results", "--yes"]);
  await each((name, page) => visit(page, ""));
  await each(async (name, page) => {
    await shown(page, "1 study waits for your decision");
    await page.getByRole("link", {name: title}).waitFor();
  });
  await seeAll("inbox-study", ["south"]);
  await each(async (name, page) => {
    await page.getByRole("link", {name: title}).click();
    await secret(page).waitFor();
    await shown(page, `${kRows[name]}`);
  });
  const codes = [];
  await each(async (name, page) => codes.push((await page.locator(".plan-code").innerText()).replace(/\s/g, "")));
  assert.match(codes[0], /^[a-z0-9]{25}$/);
  assert.equal(new Set(codes).size, 1, "the stewards read the same code out");
  // West knows south by north's word only, and is told so before anything else.
  await windows.west.page.getByRole("region", {name: "Warnings"}).waitFor();
  await seeAll("study-decide");
  await approve("north", title);
  await seeAll("study-approved", ["north"]);
  await approve("west", title);
  const last = Date.now();
  await approve("south", title);
  assert.equal(await run.end(), 0, run.err.text);
  const seconds = (Date.now() - last) / 1000;
  assert.equal(sites.north.commands.length - before, 1);
  const result = JSON.parse(fileOf(sites.north, "results/result.json"));
  assert.equal(result.study?.name ?? result.data?.study?.name, "recovery");
  assert.ok(statSync(join(work, "results/report.html")).size > 10_000);
  await each((name, page) => shown(page, name === "north" ? "The result is here." : "The result went to north; this site receives none."));
  await seeAll("study-finished");
  return seconds;
});

step("the analyst reads the result in the page", async () => {
  const {page, context} = windows.analyst;
  await openStudy(page, "Days in hospital by age and dose");
  await shown(page, "The result is here.");
  await seeAll("study-finished", ["analyst"]);
  const [download] = await Promise.all([
    page.waitForEvent("download"),
    page.getByRole("link", {name: "Result for programs (JSON)"}).click()
  ]);
  assert.equal(readFileSync(await download.path(), "utf8"), fileOf(sites.north, "results/result.json"));
  const [tab] = await Promise.all([context.waitForEvent("page"), page.getByRole("link", {name: "Report (in a new tab)"}).click()]);
  await tab.getByText("dose").first().waitFor();
  await tab.close();
});

// Proposed in the page; on every site's page afterwards.
async function proposeInPage(name, title, minRows) {
  const {page} = windows.analyst;
  await visit(page, "studies/new");
  await page.getByLabel("Study file", {exact: true}).fill(studyText(name, title, minRows));
  await shown(page, "Its plan is below.");
  await button(page, "Propose to all parties").click();
  await heading(page, title);
}

step("a rejection, with its reason at every site", async () => {
  const title = "Rejected by west";
  await proposeInPage("rejected", title);
  await seeAll("study-proposed", ["analyst"]);
  const {page} = windows.west;
  await visit(page, "");
  await page.getByRole("link", {name: title}).click();
  await button(page, "Reject …").click();
  const form = page.getByRole("form", {name: "Reject"});
  await form.getByLabel("Reason").fill("no ethics reference");
  await secret(form).fill(phrase);
  await button(form, "Reject").click();
  await each(async (name, page) => {
    if (name !== "west") await openStudy(page, title);
    await shown(page, "It was rejected: west says “no ethics reference”.");
  });
  await shown(windows.analyst.page, "It was rejected: west says “no ethics reference”.");
  await seeAll("study-rejected");
});

step("a withdrawal by the proposer, at every site", async () => {
  const title = "Withdrawn by north";
  await proposeInPage("withdrawn", title);
  await each(async (name, page) => {
    await visit(page, "");
    await page.getByRole("link", {name: title}).click();
    await secret(page).waitFor();
  });
  const {page} = windows.analyst;
  await button(page, "Withdraw …").click();
  await page.getByLabel("Reason").fill("a slip in the model");
  await button(page, "Withdraw").click();
  await each((name, page) => shown(page, "It was withdrawn: north says “a slip in the model”."));
  await seeAll("study-withdrawn");
});

step("a study that fails says at every site why, and what to do", async () => {
  const title = "Too few patients";
  await proposeInPage("few", title, 500);
  for (const name of kNames) await approve(name, title);
  await each(async (name, page) => {
    await shown(page, "It failed: an attempt was interrupted when something may have opened; it is charged.");
    await shown(page, "at least min_rows = 500 rows");
  });
  await seeAll("study-failed");
});

step("an emergency stop, and going on", async () => {
  const {page} = windows.south;
  await visit(page, "node");
  await shown(page, "in service");
  await seeAll("node", ["south"]);
  await button(page, "Stop everything …").click();
  await button(page, "Stop everything now").click();
  await shown(page, "Everything is stopped here.");
  await seeAll("node-stopped", ["south"]);
  await secret(page).fill("not that one");
  await button(page, "Let the node go on").click();
  await shown(page, "The passphrase is wrong, or the key's file is damaged.");
  await secret(page).fill(phrase);
  await button(page, "Let the node go on").click();
  await shown(page, "The node goes on.");
  await visit(page, "studies");
  await page.getByLabel("Which").selectOption("over");
  await shown(page, "4 shown");
  await seeAll("studies-over", ["south"]);
});

step("no page has a fault, and no log a secret", async () => {
  await looking;
  assert.deepEqual(faults, []);
  assert.deepEqual(Object.values(windows).flatMap(({complaints}) => complaints), []);
  for (const {commands, ...site} of Object.values(sites)) assert.ok(commands.length <= 3, site.name);
  await each((name) => {
    const log = sites[name].log();
    for (const word of [phrase, password, sites[name].code]) assert.equal(log.includes(word), false, `${name}: ${word}`);
    const lines = sites[name].node.err.text.split("\n");
    assert.deepEqual(lines.filter((line) => line && !/^\{"time":"[0-9T:Z-]*","event":"/.test(line)), []);
  });
});
