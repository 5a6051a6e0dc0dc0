// The pages of a node in a real browser, against a made-up node that is held to openapi.json: the journeys of
// stewards, analysts and operators, every page in every state, whatever peers may write.
// Works in the folder PARTITA_PAGES_FOLDER; PARTITA_PAGES_BUNDLE names a bundle that is there already, and
// PARTITA_SHOTS a folder for pictures, to look at. PARTITA_PAGES_PART=2/3: every third journey, from the second on.
import assert from "node:assert/strict";
import {execFileSync} from "node:child_process";
import {readFileSync} from "node:fs";
import {join} from "node:path";
import {after, before, describe, test} from "node:test";
import {typesOf} from "../../web/node/types.mjs";
import {look, openPage, startBrowser} from "./browser.mjs";
import {checkOf, refusal, startFake} from "./fake_api.mjs";
import {kBugs, sourceOf} from "./planted_bugs.mjs";
import {
  auditEntry, code, dictionaryOf, digest, hostile, introduction, party, passphrase, password, policy, policyDraft, privatePlan, recordEntry, root, setupCode, study, studyFile,
  table, tableBudget, time, variable, wardVariables
} from "./samples.mjs";

const folder = process.env.PARTITA_PAGES_FOLDER;
const read = (file) => readFileSync(join(root, file), "utf8");
const openapi = JSON.parse(read("src/node/web/openapi.json"));

let browser, assets;
before(async () => {
  const bundle = process.env.PARTITA_PAGES_BUNDLE ?? join(folder, "pages.json");
  if (!process.env.PARTITA_PAGES_BUNDLE) execFileSync("node", [join(root, "web/node/build.mjs"), bundle]);
  assets = JSON.parse(readFileSync(bundle, "utf8"));
  browser = await startBrowser();
});
after(() => browser?.close());

const kMore = new Set([
  "setup", "login-refused", "inbox-steward", "study-decide", "study-refused", "new-wrong", "parties", "pairing-digits",
  "policies", "tables", "tables-own", "dictionary-wrong", "accounts", "audit", "audit-fault", "node-stopped", "studies-all", "study-finished"
]);

const [part, parts] = (process.env.PARTITA_PAGES_PART ?? "1/1").split("/").map(Number);
let journeys = 0;

// A journey: a node of its own, a browser window of its own; nothing may be refused or thrown on the way.
const journey = (name, walk, changes = {}) => {
  if (journeys++ % parts !== part - 1) return;
  test(name, async () => {
    const fake = await startFake(openapi, assets, changes);
    const window = await openPage(browser, fake.address);
    const {page, context} = window;
    const faults = [];
    try {
      await walk({
        ...window,
        fake,
        state: fake.state,
        asked: () => fake.state.log.map(({what}) => what),
        see: async (what) => faults.push(...(await look(page, what, kMore.has(what)))),
        visit: (fragment) => page.goto(`/#/${fragment}`),
        // A page that is there already, drawn anew. Two changes of the fragment at once would leave it as it is.
        anew: async (fragment) => {
          await page.goto("/#/parties");
          await heading(page, "Parties");
          await page.goto(`/#/${fragment}`);
        },
        // As if the login of before still held; the login itself is a journey of its own.
        loginAs: async (role) => {
          await page.goto("/licences.txt");
          await page.evaluate(
            (body) =>
              fetch("/api/v1/session", {method: "POST", headers: {"Content-Type": "application/json"}, body}).then(
                () => null
              ),
            JSON.stringify({name: role, password})
          );
          await page.goto("/");
          await heading(page, "Inbox");
        }
      });
    } finally {
      await context.close();
      fake.stop();
    }
    assert.deepEqual(faults, []);
    assert.deepEqual(window.complaints, []);
    assert.deepEqual(fake.faults, []);
  });
};

const heading = (page, name) => page.getByRole("heading", {level: 1, name}).waitFor();
const button = (page, name) => page.getByRole("button", {name, exact: true});
const shown = (page, text) => page.getByText(text).first().waitFor();
const secret = (page) => page.getByLabel("Passphrase of the steward's key");

test("types and roles of the pages are those of openapi.json", () => {
  assert.equal(read("web/node/src/base/types.ts"), typesOf(openapi));
  const allowed = (method, path) => openapi.paths[`/api/v1${path}`][method]["x-roles"].slice().sort();
  const text = read("web/node/src/base/roles.ts");
  const may = (act) =>
    ["steward", "analyst", "operator", "auditor"]
      .filter((role) => text.match(new RegExp(`\\b${role}: \\[([^\\]]*)\\]`))[1].includes(`"${act}"`))
      .sort();
  for (const [act, method, path] of [
    ["decide", "post", "/studies/{study}/approve"],
    ["decide", "post", "/studies/{study}/reject"],
    ["decide", "post", "/pairings/{pairing}/confirm"],
    ["decide", "post", "/parties/{party}/accept"],
    ["decide", "post", "/parties/{party}/revoke"],
    ["decide", "post", "/node/go-on"],
    ["read-decisions", "get", "/studies/{study}/for-steward"],
    ["read-policies", "get", "/policies"],
    ["read-budgets", "get", "/tables/budgets"],
    ["describe", "post", "/tables/{table}/dictionary"],
    ["describe", "post", "/tables/{table}/dictionary/check"],
    ["describe", "post", "/tables/{table}/dictionary/draft"],
    ["decide", "post", "/policies/{policy}/end"],
    ["propose", "post", "/studies"],
    ["check", "post", "/studies/check"],
    ["withdraw", "post", "/studies/{study}/withdraw"],
    ["read-results", "get", "/studies/{study}/report.html"],
    ["pair", "post", "/invitations"],
    ["pair", "post", "/pairings"],
    ["pair", "post", "/pairings/{pairing}/digits"],
    ["read-pairings", "get", "/pairings/{pairing}"],
    ["stop", "post", "/node/stop"],
    ["manage-accounts", "post", "/accounts"],
    ["read-accounts", "get", "/accounts"],
    ["read-audit", "get", "/audit"],
    ["read-audit", "get", "/record"]
  ]) {
    assert.deepEqual(may(act), allowed(method, path), `${act}: ${method} ${path}`);
  }
});

test("planted bugs still apply", () => {
  for (const bug of kBugs) {
    assert.equal(readFileSync(sourceOf(bug), "utf8").split(bug.from).length, 2, `${bug.name}: its text is not there once`);
  }
});

test("the sources pass tsc with strict rules", () => {
  execFileSync("node", [join(root, "web/node_modules/typescript/bin/tsc"), "-p", join(root, "web/node")], {stdio: "pipe"});
});

describe("journeys", {concurrency: 3}, () => {
journey(
  "set-up from this machine",
  async ({asked, page, see, state}) => {
    await page.goto("/");
    await heading(page, "Set up");
    await see("setup");
    await page.getByLabel("Set-up code").fill("wrong");
    await page.getByRole("textbox", {name: "Account"}).fill("anna");
    await page.getByLabel("Password", {exact: true}).fill(password);
    await page.getByLabel("The password again").fill("another one, by mistake");
    await button(page, "Make the account").click();
    await shown(page, "The two passwords differ.");
    assert.deepEqual(asked(), []);
    await page.getByLabel("The password again").fill(password);
    await button(page, "Make the account").click();
    await shown(page, "The set-up code is wrong or old.");
    await shown(page, "partita node setup-code prints a new one.");
    await see("setup-refused");
    await page.getByLabel("Set-up code").fill(setupCode);
    await button(page, "Make the account").click();
    await heading(page, "Inbox");
    assert.equal(state.accounts.at(-1).role, "operator");
    await shown(page, "anna, operator");
  },
  {accounts: [], setup: {needed: true, here: true}}
);

journey(
  "set-up from afar is not offered",
  async ({page, see}) => {
    await page.goto("/");
    await shown(page, "This node has no account yet.");
    assert.equal(await page.getByRole("textbox").count(), 0);
    await see("setup-afar");
  },
  {accounts: [], setup: {needed: true, here: false}}
);

journey("login, its problems, and logout", async ({page, see, loginAs}) => {
  await page.goto("/#/parties");
  await heading(page, "Log in");
  await see("login");
  await page.getByRole("textbox", {name: "Account"}).fill("steward");
  await page.getByLabel("Password").fill("wrong");
  await button(page, "Log in").click();
  await shown(page, "The account or the password is wrong.");
  assert.equal(await page.getByLabel("Password").inputValue(), "");
  await see("login-refused");
  await page.getByRole("textbox", {name: "Account"}).fill("hasty");
  await page.getByLabel("Password").fill("wrong");
  await button(page, "Log in").click();
  await shown(page, "Try again in 16 s.");
  await page.getByRole("textbox", {name: "Account"}).fill("steward");
  await page.getByLabel("Password").fill(password);
  await page.keyboard.press("Enter");
  await heading(page, "Parties"); // where one wanted to go
  await button(page, "Log out").click();
  await heading(page, "Log in");
  await page.reload();
  await heading(page, "Log in");
  await loginAs("auditor");
  await shown(page, "Nothing waits for you.");
  await see("inbox-nothing");
});

journey(
  "a steward approves with two clicks and a passphrase",
  async ({fake, page, clicks, loginAs, state, see}) => {
    await loginAs("steward");
    await shown(page, "1 study waits for your decision");
    await see("inbox-steward");
    clicks.start();
    await clicks.click(page.getByRole("link", {name: "Readmission within thirty days"}));
    await secret(page).waitFor();
    assert.equal(await page.locator(".plan-code").innerText().then((text) => text.replace(/\s/g, "")), code);
    assert.equal(await page.locator(".plan-code span").count(), 5);
    for (const text of ["north (digits compared on 2 Oct 2026)", "The results are exact.", "1840", "edition of 2026-10-01, 1,840 rows", "at least 1000 rows"])
      await shown(page, text);
    await see("study-decide");
    await secret(page).fill(passphrase); // goes with the keyboard
    await clicks.click(button(page, "Approve"));
    await page.getByRole("status").filter({hasText: "This site has approved. It waits for north and west."}).waitFor();
    assert.equal(clicks.count(), 2);
    assert.deepEqual(state.log.at(-1), {
      what: `POST /api/v1/studies/${state.studies[0].study}/approve`,
      body: {code, table: digest("d"), passphrase}
    });
    assert.equal(await button(page, "Approve").count(), 0);
    await see("study-approved");
    // What was said of that goes when the study goes on.
    Object.assign(state.studies[0], {state: "running", approved: ["north", "south", "west"], by_policy: ["west"], attempt: 1});
    fake.news();
    await shown(page, /^It runs/);
    await shown(page, "north, south and west (by a policy of its steward) (3 of 3)");
    assert.equal(await page.getByText("This site has approved").count(), 0);
  },
  {studies: [study("settled"), study("running", {approved: ["north", "south", "west"], attempt: 1})]}
);

journey(
  "a steward is told of a study whose table the node cannot read",
  async ({page, loginAs, see}) => {
    await loginAs("steward");
    await shown(page, "1 study cannot be approved here yet");
    assert.equal(await page.getByText("Nothing waits for you.").count(), 0);
    await see("inbox-held");
  },
  {studies: [study("settled", {needs_decision: false}), study("settled", {needs_decision: false, approved: ["south"]})]}
);

journey(
  "an approval with stricter limits, of a result of little use, after a wrong passphrase",
  async ({page, loginAs, state, see, visit}) => {
    const [{study: id}] = state.studies;
    state.screens.set(id, {useless: "the smallest effect it could find is 0.9 standard deviations"});
    await loginAs("steward");
    await visit(`studies/${id}`);
    await page.getByText("Stricter limits").click();
    await page.getByLabel("Smallest count that may open").fill("10");
    await page.getByLabel("Valid until the end of (UTC)").fill("2026-12-01");
    for (let tries = 0; tries < 4; ++tries) {
      await secret(page).fill("wrong");
      await page.getByLabel("Approve all the same").check();
      await button(page, "Approve").click();
      await page.getByRole("alert").waitFor();
      await page.waitForFunction(() => document.querySelector(".decide input[type=password]").value === "");
    }
    await shown(page, "Too many wrong passphrases.");
    await shown(page, "Try again in 8 s.");
    await see("study-refused");
    state.wrong = 0;
    await secret(page).fill(passphrase);
    await button(page, "Approve").click();
    await shown(page, "This site has approved.");
    assert.deepEqual(state.log.at(-1).body, {
      code, table: digest("d"), passphrase, min_cell: 10, valid_until: "2026-12-01T23:59:59Z", accept_useless: true
    });
  },
  {studies: [study("settled", {title: "Private regression", plan: privatePlan})]}
);

journey(
  "a steward rejects with a reason",
  async ({page, loginAs, state, see, visit}) => {
    await loginAs("steward");
    await visit(`studies/${state.studies[0].study}`);
    await button(page, "Reject …").click();
    await page.getByLabel("Reason").fill("no ethics\nreference");
    await see("study-reject");
    const form = page.getByRole("form", {name: "Reject"});
    await secret(form).fill(passphrase);
    await button(form, "Reject").click();
    await shown(page, "It was rejected: south says “no ethics reference”.");
    assert.deepEqual(state.log.at(-1).body, {reason: "no ethics reference", passphrase});
    await see("study-rejected");
  },
  {studies: [study("settled")]}
);

journey(
  "two persons sign: who has, and for whom it waits",
  async ({page, loginAs, state, see, visit}) => {
    const [waits] = state.studies;
    state.screens.set(waits.study, {stewards_needed: 2, may_sign: ["the steward", "kim"]});
    await loginAs("steward");
    await visit(`studies/${waits.study}`);
    await shown(page, "Two persons have to sign. It waits for the steward and kim.");
    const approval = page.getByRole("form", {name: "Approve"});
    await approval.getByRole("radio", {name: "kim"}).check();
    await see("study-two-persons");
    await approval.getByLabel("Passphrase of kim's key").fill(passphrase);
    await button(page, "Approve").click();
    await page.getByRole("status").filter({hasText: "1 of 2 has signed at this site: kim. It waits for another person; 0 of 3 sites have approved."}).waitFor();
    assert.deepEqual(state.log.at(-1).body, {code, table: digest("d"), passphrase, deputy: "kim"});
    await shown(page, "1 of 2 has signed: kim. It waits for the steward.");
    assert.equal(await approval.getByRole("radio").count(), 0);
    assert.equal(await page.getByText("Stricter limits").count(), 0);
    await approval.getByLabel("Passphrase of the steward's key").fill(passphrase);
    await button(page, "Approve").click();
    await page.getByRole("status").filter({hasText: "This site has approved. It waits for north and west."}).waitFor();
    assert.deepEqual(state.log.at(-1).body, {code, table: digest("d"), passphrase});
    await shown(page, "south (kim and the steward) (1 of 3)");
  },
  {studies: [study("settled")]}
);

journey(
  "a deputy rejects and withdraws under its own name",
  async ({page, loginAs, state, visit}) => {
    const [rejected, withdrawn] = state.studies;
    for (const one of state.studies) state.screens.set(one.study, {may_sign: ["the steward", "kim"]});
    await loginAs("steward");
    for (const [one, name] of [[rejected, "Reject"], [withdrawn, "Withdraw"]]) {
      await visit(`studies/${one.study}`);
      await button(page, `${name} …`).click();
      const form = page.getByRole("form", {name});
      await form.getByLabel("Reason").fill("no ethics reference");
      await form.getByRole("radio", {name: "kim"}).check();
      await form.getByLabel("Passphrase of kim's key").fill(passphrase);
      await form.getByRole("button", {name}).click();
      await shown(page, /no ethics reference/);
      assert.deepEqual(state.log.at(-1).body, {reason: "no ethics reference", passphrase, deputy: "kim"});
    }
  },
  {studies: [study("settled"), study("approved", {approved: ["south"]})]}
);

journey(
  "warnings of the path of trust come first; what cannot be approved has no button",
  async ({page, loginAs, state, see, visit}) => {
    const [warned, early, refused] = state.studies;
    state.screens.set(warned.study, {
      trust: ["north could read your table here: west is known only on its word"],
      parties: [{name: "north", known: "digits compared on 2026-10-02T09:00:00Z"}, {name: "west", known: "introduced by north"}]
    });
    state.screens.set(early.study, {can_approve: false, why_not: "the table is not frozen yet", table: null});
    state.screens.set(refused.study, refusal(409, "untrusted", "the roster names another steward of west than the signed list of parties", "Compare the parties by telephone before anything else."));
    await loginAs("steward");
    await visit(`studies/${warned.study}`);
    const warning = page.getByRole("region", {name: "Warnings"});
    await warning.getByText("North could read your table here: west is known only on its word.").waitFor();
    const boxes = await Promise.all([warning, page.getByRole("heading", {name: "What is asked"})].map((one) => one.boundingBox()));
    assert.ok(boxes[0].y < boxes[1].y);
    await see("study-warned");
    await visit(`studies/${early.study}`);
    await shown(page, "The table is not frozen yet.");
    assert.equal(await button(page, "Approve").count(), 0);
    await visit(`studies/${refused.study}`);
    await shown(page, "The roster names another steward of west than the signed list of parties.");
    assert.equal(await button(page, "Approve").count(), 0);
    await see("study-untrusted");
  },
  {studies: [study("settled"), study("settled"), study("settled")]}
);

journey(
  "without a signer nothing is signed here",
  async ({page, loginAs, state, see, visit}) => {
    await loginAs("steward");
    await visit(`studies/${state.studies[0].study}`);
    await shown(page, "No signer is at hand, so nothing is signed in this page.");
    assert.equal(await secret(page).count(), 0);
    await visit("node");
    await shown(page, "Nothing can be signed in these pages.");
    await see("node-no-signer");
  },
  {signer: false, studies: [study("settled")]}
);

journey("a study is checked while it is typed, and proposed once", async ({fake, page, loginAs, state, see, visit}) => {
  const proposed = study("proposed");
  state.propose = (file) => ({...proposed, file});
  await loginAs("analyst");
  await page.getByRole("link", {name: "New study"}).click();
  await heading(page, "New study");
  await see("new-empty");
  const box = page.getByLabel("Study file", {exact: true});
  await box.fill(studyFile.replace("family", "famly"));
  await shown(page, "unknown key 'famly'");
  await shown(page, "Did you mean 'family'?");
  assert.equal(await button(page, "Propose to all parties").getAttribute("aria-disabled"), "true");
  await see("new-wrong");
  const plan = structuredClone(checkOf(studyFile).plan);
  plan.exposures[0].bits = {opened: 63, table: 9, passes: false, meaning: "more than half of the bits"};
  plan.notes = ["the result would be of little use"];
  state.check = (file) => ({...checkOf(file), plan, warnings: ["the smallest effect is large"]});
  await box.fill(studyFile);
  await shown(page, "Its plan is below.");
  await shown(page, "The smallest effect is large.");
  await page.getByRole("heading", {name: "What opens, and to whom"}).waitFor();
  // As the plan at the terminal says it.
  const warning = page.locator(".notice.warn", {hasText: "63 bits open of a table of 9 bits: more than half of the bits."});
  assert.equal(await warning.count(), 1);
  await shown(page, "The result would be of little use.");
  await see("new-valid");
  await page.getByLabel("Open for how many days").fill("7");
  state.loses = "/api/v1/studies"; // it is done, and asked for again
  await button(page, "Propose to all parties").click();
  await shown(page, "The node does not answer.");
  assert.equal(await box.inputValue(), studyFile);
  assert.equal(state.studies.length, 1);
  state.loses = "";
  await button(page, "Propose to all parties").click();
  await heading(page, "Readmission within thirty days");
  assert.deepEqual(state.log.at(-1), {what: "POST /api/v1/studies", body: {file: studyFile, days: 7}});
  assert.equal(state.studies.length, 1);
  await shown(page, "This node checks whether the study is valid here.");
  await see("study-proposed");
  // What others do shows without a click.
  Object.assign(state.studies[0], {...study("approved"), study: proposed.study, own: true, approved: ["south"]});
  fake.news();
  await shown(page, "This site has approved. It waits for north and west.");
  await button(page, "Withdraw …").click();
  await page.getByLabel("Reason").fill("a slip in the model");
  assert.equal(await secret(page).count(), 0);
  await button(page, "Withdraw").click();
  await shown(page, "The study is withdrawn.");
  assert.equal(state.studies[0].state, "withdrawn");
});

journey("a session that ends keeps what was typed, for the same person only", async ({fake, page, loginAs, state, see, visit}) => {
  state.propose = (file) => study("proposed", {file});
  await loginAs("analyst");
  await visit("studies/new");
  const box = page.getByLabel("Study file", {exact: true});
  await box.fill(studyFile);
  await shown(page, "Its plan is below.");
  state.sessions.clear();
  await button(page, "Propose to all parties").click();
  await shown(page, "Your session ended.");
  assert.equal(await box.isVisible(), false);
  await see("session-ended");
  await page.getByLabel("Password").fill(password);
  await button(page, "Log in").click();
  await box.waitFor();
  assert.equal(await box.inputValue(), studyFile);
  await shown(page, "Its plan is below.");
  await button(page, "Propose to all parties").click();
  await heading(page, "Readmission within thirty days");
  await visit("studies/new");
  await box.fill("for one person's eyes");
  state.sessions.clear();
  fake.news();
  await shown(page, "Your session ended.");
  await page.getByRole("textbox", {name: "Account"}).fill("steward");
  await page.getByLabel("Password").fill(password);
  await button(page, "Log in").click();
  await heading(page, "Check a study file");
  assert.equal(await box.inputValue(), "");
});

journey(
  "a passphrase does not outlive the session",
  async ({fake, page, loginAs, state, visit}) => {
    await loginAs("steward");
    await visit(`studies/${state.studies[0].study}`);
    await secret(page).fill(passphrase);
    state.sessions.clear();
    fake.news();
    await shown(page, "Your session ended.");
    assert.equal(await page.locator(".decide input[type=password]").inputValue(), "");
    await page.getByLabel("Password").fill(password);
    await button(page, "Log in").click();
    await secret(page).waitFor();
    assert.equal(await secret(page).inputValue(), "");
  },
  {studies: [study("settled")]}
);

journey("the inviter: line, digits, the steward's word, the list", async ({page, loginAs, state, see, visit}) => {
  await loginAs("steward");
  await visit("parties");
  await page.getByLabel("Name of the site").fill("east");
  await button(page, "Make a line").click();
  await shown(page, "partita-invite-1 south.example.org:7400");
  await see("parties-invited");
  await page.getByRole("link", {name: "Go on: compare digits"}).click();
  await shown(page, "east has not come yet.");
  await see("pairing-open");
  const [pairing] = state.pairings;
  Object.assign(pairing, {state: "digits", shown: "123456"});
  await shown(page, "Call east at a number that you knew before.");
  await shown(page, "Never type digits for somebody who calls you.");
  assert.equal(await page.locator(".spoken").innerText(), "123 456");
  await see("pairing-digits");
  await page.getByLabel("Digits of east").fill("271 828");
  await button(page, "Compare").click();
  await shown(page, "The digits that were typed here agree.");
  await see("pairing-sign");
  await secret(page).fill(passphrase);
  await button(page, "Confirm east").click();
  await shown(page, "It waits until a steward of east confirms, too.");
  await see("pairing-waiting");
  Object.assign(pairing, {
    state: "met",
    reach: "reached",
    party: {name: "east", address: "east.example.org:7400", node_key: digest("4"), steward_key: digest("5")}
  });
  await button(page, "Put east on the list").click();
  await shown(page, "east is a party of this site.");
  await see("pairing-listed");
  assert.deepEqual(state.log.at(-1).body, {});
});

journey("the joiner: a line that is none, digits that differ, a signer that forgot", async ({fake, page, loginAs, state, see, visit}) => {
  await loginAs("steward");
  await visit("parties");
  await page.getByLabel("The line that the other site sent").fill("hello");
  await button(page, "Connect").click();
  await shown(page, "This is no line of an invitation.");
  await see("parties-join-refused");
  await page.getByLabel("The line that the other site sent").fill("partita-invite-1 east.example.org:7400 abc");
  await button(page, "Connect").click();
  await shown(page, "Call east at a number that you knew before.");
  await page.getByLabel("Digits of east").fill("111111");
  await button(page, "Compare").click();
  await shown(page, "The digits differ: somebody may be in between.");
  fake.news();
  await shown(page, "east is no party of this site.");
  await see("pairing-over");
  const met = {
    number: "c".repeat(32), state: "met", listed: false, name: "west2", role: "joiner", shown: "", reach: "the port is closed",
    party: {name: "west2", address: "west2.example.org:7400", node_key: digest("4"), steward_key: digest("5")}
  };
  state.pairings.push(met);
  state.forgetful = true;
  await visit(`pairings/${met.number}`);
  await button(page, "Put west2 on the list").click();
  await shown(page, "The passphrase is wrong.");
  await see("pairing-met-asks");
  await secret(page).fill(passphrase);
  await button(page, "Put west2 on the list").click();
  await shown(page, "west2 is a party of this site.");
});

journey(
  "introductions are accepted and parties revoked with the passphrase",
  async ({asked, page, loginAs, state, see, visit}) => {
    await loginAs("steward");
    await shown(page, "north introduces it.");
    await visit("parties");
    await shown(page, "it may be north and west under a second key");
    await see("parties");
    await button(page, "Accept east …").click();
    await secret(page).fill(passphrase);
    await button(page, "Accept east").click();
    await shown(page, "The list of parties is signed.");
    await shown(page, "on the word of north and west");
    await button(page, "Revoke west …").click();
    await page.keyboard.press("Escape");
    await secret(page).waitFor({state: "detached"});
    await page.locator("button:focus", {hasText: "Revoke west …"}).waitFor();
    await button(page, "Revoke west …").click();
    await secret(page).fill(passphrase);
    await button(page, "Revoke west").click();
    await shown(page, "It does not count.");
    await see("parties-revoked");
    assert.deepEqual(asked().slice(1), ["POST /api/v1/parties/east/accept", "POST /api/v1/parties/west/revoke"]);
    const {node_key, steward_key} = introduction("east", "north");
    assert.deepEqual(state.log[1].body, {node_key, steward_key, passphrase});
    assert.equal(state.parties.find((one) => one.name === "west").revoked !== "", true);
  },
  {
    waiting: [introduction("east", "north"), introduction("east", "west")],
    pairings: [{number: "d".repeat(32), state: "open", listed: false, name: "delta", role: "inviter", shown: "", reach: "", party: null}]
  }
);

journey(
  "a passphrase that was typed below keys goes with them",
  async ({fake, page, loginAs, state, visit}) => {
    await loginAs("steward");
    await visit("parties");
    await button(page, "Accept east …").click();
    await secret(page).fill(passphrase);
    state.waiting = [{...state.waiting[0], node_key: "c".repeat(64)}];
    fake.news();
    await secret(page).waitFor({state: "detached"});
    await button(page, "Accept east …").click();
    assert.equal(await secret(page).inputValue(), "");
  },
  {waiting: [introduction("east", "north")]}
);

journey(
  "what nobody clicked for keeps no session, and makes no plans",
  async ({fake, page, loginAs, state, visit}) => {
    const [foreign, own] = state.studies;
    await loginAs("analyst");
    await visit("studies");
    await shown(page, "Our own study");
    const since = state.loads.length;
    Object.assign(foreign, {title: "Changed by news"});
    fake.news();
    await shown(page, "Changed by news");
    const loads = state.loads.slice(since);
    assert.ok(loads.length >= 4);
    assert.deepEqual(loads.filter((one) => !one.byItself), []);
    await visit(`studies/${foreign.study}`);
    await heading(page, "Changed by news");
    assert.equal(state.loads.some((one) => one.path.endsWith(foreign.study) && !one.byItself), true);
    assert.deepEqual(state.checks, [], "another site's file");
    await visit(`studies/${own.study}`);
    await heading(page, own.title);
    await page.getByText("Plan, with its costs").waitFor();
    assert.equal(state.checks.length, 1);
    Object.assign(own, {state: "running", progress: [{party: "north", phase: "step 3", done_per_mille: 500}]});
    fake.news();
    await page.getByRole("progressbar", {name: "Progress of north"}).waitFor();
    assert.equal(state.checks.length, 1, "a step of a run is no other plan");
  },
  {studies: [study("validated"), study("validated", {study: "e".repeat(64), own: true, title: "Our own study"})]}
);

journey("accounts: made, refused, given a password, deleted", async ({page, loginAs, state, see, visit}) => {
  await loginAs("operator");
  await visit("accounts");
  await page.getByLabel("Account", {exact: true}).fill("analyst");
  await page.getByLabel("First password").fill(password);
  assert.equal(await page.getByLabel(/^Steward/).count(), 0, "an operator makes no stewards");
  assert.equal(await button(page, "New password for steward …").count(), 0);
  const mine = page.getByRole("form", {name: "New account"}).getByLabel("Your own password");
  await mine.fill("wrong");
  await button(page, "Make the account").click();
  await shown(page, "The current password is wrong.");
  await mine.fill(password);
  await button(page, "Make the account").click();
  await shown(page, "The account analyst is there already.");
  await see("accounts");
  await page.getByLabel("Account", {exact: true}).fill("bert");
  await page.getByLabel(/^Auditor/).check();
  await button(page, "Make the account").click();
  await shown(page, "The account bert is there.");
  assert.equal(state.accounts.at(-1).role, "auditor");
  await button(page, "New password for bert …").click();
  await page.getByRole("form", {name: "Password of bert"}).getByLabel("New password").fill("another long password");
  await page.getByRole("form", {name: "Password of bert"}).getByLabel("Your own password").fill(password);
  await page.getByRole("form", {name: "Password of bert"}).getByRole("button").click();
  await shown(page, "The password of bert is set.");
  await button(page, "Delete bert …").click();
  await button(page, "Delete bert").click();
  await shown(page, "bert is deleted.");
  assert.equal(state.accounts.some((one) => one.name === "bert"), false);
  const own = page.getByRole("form", {name: "Password of operator"});
  await own.getByLabel("Current password").fill("wrong");
  await own.getByLabel("New password").fill("yet another password");
  await own.getByRole("button").click();
  await shown(page, "The current password is wrong.");
});

journey("emergency stop and going on", async ({page, loginAs, state, see, visit, anew}) => {
  await loginAs("operator");
  await visit("node");
  await see("node");
  await button(page, "Stop everything …").click();
  await see("node-stop");
  await button(page, "Stop everything now").click();
  await shown(page, "Everything is stopped here.");
  assert.equal(state.stopped, true);
  assert.equal(await secret(page).count(), 0); // an operator does not let it go on
  await button(page, "Log out").click();
  await heading(page, "Log in");
  await loginAs("steward");
  await shown(page, "No study starts until the steward lets the node go on.");
  await see("inbox-stopped");
  await visit("node");
  await secret(page).fill(passphrase);
  await see("node-stopped");
  await button(page, "Let the node go on").click();
  await shown(page, "The node goes on.");
  assert.equal(state.stopped, false);
  state.draining = true;
  await anew("node");
  await shown(page, "No run begins here.");
  await see("node-draining");
});

journey("tables are closed since a restore", async ({page, loginAs, state, visit, see}) => {
  const closed = "The tables of this site are closed.";
  const command = page.getByRole("region", {name: "Command that opens the tables"});
  state.restored = {time: "2026-11-20T08:30:00Z", closed: true, asked: 3, answered: 2};
  await loginAs("steward");
  await shown(page, closed);
  await shown(page, "The node was restored from a backup on 20 Nov 2026.");
  await shown(page, "2 of 3 answered");
  await see("inbox-closed");
  await page.getByRole("link", {name: "How the steward opens them"}).click();
  await shown(page, "tables closed");
  assert.match(await command.innerText(), /^partita node reopen --at /);
  await see("node-closed");
  await visit("tables");
  await shown(page, closed);
  await button(page, "Log out").click();
  await heading(page, "Log in");
  await loginAs("analyst"); // whose study waits for it
  await shown(page, closed);
  state.restored.time = "";
  await visit("node");
  await shown(page, "the mark of that cannot be read");
  assert.equal(await command.count(), 0); // there is nothing to sign
  state.restored = {time: "2026-11-20T08:30:00Z", closed: false, asked: 3, answered: 3};
  await visit("tables");
  await heading(page, "Tables");
  await visit("node");
  await shown(page, "policies from before do not count any more");
  await shown(page, "in service");
  assert.equal(await page.getByText(closed).count(), 0);
});

journey(
  "each role sees what it may do, and no more",
  async ({page, loginAs, state, visit, see}) => {
    const id = state.studies[0].study;
    await loginAs("analyst");
    await visit("parties");
    await heading(page, "Parties");
    await shown(page, "2 parties");
    for (const name of ["Make a line", "Connect", "Accept east …", "Revoke north …"]) assert.equal(await button(page, name).count(), 0, name);
    await visit("accounts");
    await heading(page, "Your account");
    assert.equal(await button(page, "Make the account").count(), 0);
    await see("accounts-analyst");
    await visit(`studies/${id}`);
    await shown(page, "It waits for the decision of this site's steward");
    assert.equal(await button(page, "Approve").count(), 0);
    await visit("node");
    await shown(page, "in service");
    assert.equal(await button(page, "Stop everything …").count(), 0);
    await visit(`pairings/${"d".repeat(32)}`);
    await heading(page, "Not for this account");
    await visit("nothing/like/this");
    await heading(page, "There is no such page");
    await button(page, "Log out").click();
    await heading(page, "Log in");
    await loginAs("operator");
    await visit("studies/new");
    await heading(page, "Not for this account");
    await visit(`studies/${id}`);
    await shown(page, "Parties and where they stand");
    assert.equal(await button(page, "Approve").count(), 0);
    await see("study-operator");
    await visit("parties");
    await button(page, "Make a line").waitFor();
    assert.equal(await button(page, "Accept east …").count(), 0);
    await button(page, "Log out").click();
    await heading(page, "Log in");
    await loginAs("auditor");
    await visit(`studies/${id}`);
    await shown(page, "Code of the plan");
    for (const name of ["Approve", "Reject …", "Withdraw …"]) assert.equal(await button(page, name).count(), 0, name);
  },
  {studies: [study("settled")], waiting: [introduction("east", "north")]}
);

const kEvery = [
  study("proposed", {name: "", title: ""}),
  study("validated"),
  study("agreed", {approved: ["north", "south", "west"]}),
  study("scheduled", {approved: ["north", "south", "west"], attempt: 1}),
  study("running", {
    approved: ["north", "south", "west"],
    attempt: 1,
    progress: ["north", "south", "west"].map((name, i) => ({party: name, phase: "step 3", done_per_mille: 380 + 10 * i}))
  }),
  study("closing", {approved: ["north", "south", "west"], attempt: 1, ended: [{party: "north", outcome: "finished", may_have_opened: true}]}),
  study("finished", {
    approved: ["north", "south", "west"],
    attempt: 1,
    charged: true,
    ended: ["north", "south", "west"].map((name) => ({party: name, outcome: "finished", may_have_opened: true})),
    result: {has_report: true, has_json: true, report: "/api/v1/studies/x/report.html", json: "/api/v1/studies/x/result.json"}
  }),
  study("finished", {approved: ["north", "south", "west"], attempt: 1, charged: true}),
  study("failed", {charged: true, who: "west", reason: "the connection was lost", attempt: 1}),
  study("expired", {reason: "not all had approved"})
];

journey(
  "every state has its sentence",
  async ({page, loginAs, state, see, visit}) => {
    for (const one of state.studies) if (one.result.has_report) one.result.report = `/api/v1/studies/${one.study}/report.html`;
    await loginAs("steward");
    await visit("studies");
    await page.getByLabel("Which").selectOption("all");
    await shown(page, "10 shown");
    for (const text of [
      "a study without a name",
      "It is valid here. It waits for west to check it.",
      "All sites have approved. It starts as soon as all nodes are free.",
      "It is about to start.",
      "It runs, 38 % done.",
      "The run has ended; the sites tell each other how.",
      "It failed: west says “the connection was lost”.",
      "Its time is over: not all had approved."
    ])
      await shown(page, text);
    await see("studies-all");
    const [running, finished, received, failed] = [4, 6, 7, 8].map((i) => state.studies[i].study);
    state.screens.set(failed, {problem: "at least 500 rows are needed"});
    await visit(`studies/${running}`);
    await page.getByRole("progressbar", {name: "Progress of north"}).waitFor();
    await see("study-running");
    await visit(`studies/${finished}`);
    const report = page.getByRole("link", {name: "Report (in a new tab)"});
    assert.equal(await report.getAttribute("rel"), "noopener noreferrer");
    const [tab] = await Promise.all([page.context().waitForEvent("page"), report.click()]);
    await tab.getByText("the report").waitFor();
    await tab.close();
    await shown(page, "Result is kept until");
    await shown(page, "Documents are kept until");
    await see("study-finished");
    Object.assign(state.studies[6], {result: state.studies[7].result, kept: {...state.studies[6].kept, result_kept: false}});
    await page.reload();
    await shown(page, /was deleted here, as node.toml says, after/);
    await visit(`studies/${received}`);
    await shown(page, "The result went to north; this site receives none.");
    await visit(`studies/${failed}`);
    await shown(page, "Something may have been opened; it counts as done.");
    await shown(page, "At least 500 rows are needed.");
    await see("study-failed");
  },
  {studies: kEvery}
);

journey(
  "long lists are read page by page and filtered",
  async ({page, loginAs, see, visit}) => {
    await loginAs("auditor");
    await visit("studies");
    await shown(page, "50 shown, there are more");
    await button(page, "Show more").click();
    await shown(page, "100 shown, there are more");
    await page.getByLabel("With these words").fill("number 73 ");
    await shown(page, "1 shown");
    await page.getByLabel("With these words").fill("nobody wrote this");
    await shown(page, "No study has these words.");
    await page.getByLabel("With these words").fill("");
    await page.getByLabel("Which").selectOption("over");
    await shown(page, "There is no study.");
    await see("studies-none");
  },
  {studies: Array.from({length: 120}, (_, i) => study("validated", {title: `Study number ${i} of many`}))}
);

journey(
  "words of peers are text, whatever they are",
  async ({page, loginAs, state, see, visit}) => {
    const [bad, long] = state.studies;
    state.screens.set(bad.study, {
      trust: [hostile.markup],
      parties: [{name: hostile.markup, known: hostile.markup}],
      table: {name: hostile.markup, digest: digest("d"), rows: null, missing_cells: null, edition: hostile.markup, budget: hostile.markup, dictionary: hostile.markup}
    });
    const harmless = async () => {
      assert.equal(await page.evaluate(() => window.harmed), undefined);
      assert.equal(await page.locator("main img, main script, main b:has-text('bold'), main a[href^='javascript']").count(), 0);
    };
    await loginAs("steward");
    await page.getByRole("link", {name: hostile.markup}).first().waitFor();
    await shown(page, "approved [U+202E]yb detcejer[U+202C] [U+200B]by[U+0007] all");
    await harmless();
    await see("hostile-inbox");
    await visit(`studies/${bad.study}`);
    await secret(page).waitFor();
    await page.getByText("Study file", {exact: true}).click();
    await page.getByText("Plan, with its costs").click();
    await harmless();
    await see("hostile-study");
    await visit(`studies/${long.study}`);
    await secret(page).waitFor();
    // A long title does not push what matters out of sight.
    assert.equal((await page.getByRole("heading", {level: 1}).innerText()).length, 161);
    await see("long-study");
    await visit("parties");
    await shown(page, hostile.markup);
    await harmless();
    await see("hostile-parties");
    await visit(`pairings/${"e".repeat(32)}`);
    await heading(page, `Meet ${hostile.markup}`);
    await harmless();
  },
  {
    studies: [
      study("settled", {
        name: hostile.link, title: hostile.markup, proposer: hostile.markup, file: hostile.markup, roster: hostile.turned,
        parties: [hostile.markup, "south"], receivers: [hostile.markup], approved: [hostile.markup],
        progress: [{party: hostile.markup, phase: hostile.markup, done_per_mille: 10}],
        roster_parties: [{name: hostile.markup, fingerprint: hostile.markup, steward: hostile.turned}],
        plan: JSON.parse(JSON.stringify(privatePlan).replaceAll("smoker", JSON.stringify(hostile.markup).slice(1, -1)))
      }),
      study("settled", {
        name: hostile.long, title: hostile.long, proposer: hostile.long, parties: [hostile.long, "south"], receivers: [hostile.long],
        plan: JSON.parse(JSON.stringify(privatePlan).replaceAll("smoker", hostile.long))
      }),
      study("settled", {title: hostile.turned, plan: {schema_version: 99}})
    ],
    parties: [party(hostile.markup, {address: hostile.markup}), party(hostile.long)],
    waiting: [introduction(hostile.markup, hostile.markup)],
    pairings: [{number: "e".repeat(32), state: "open", listed: false, name: hostile.markup, role: "inviter", shown: "", reach: "", party: null}]
  }
);

journey("markup has no way into the page, and nothing leaves it", async ({page, complaints, loginAs}) => {
  await loginAs("steward");
  const caught = await page.evaluate(() => {
    try {
      document.querySelector("main").innerHTML = "<img src=x>";
      return "taken";
    } catch (error) {
      return error.name;
    }
  });
  assert.equal(caught, "TypeError");
  const ran = await page.evaluate(() => {
    const script = document.createElement("script");
    script.append("window.harmed = 4");
    document.body.append(script);
    return window.harmed;
  });
  assert.equal(ran, undefined);
  const left = await page.evaluate(() => fetch("https://elsewhere.example/").then(() => "left", () => "stayed"));
  assert.equal(left, "stayed");
  assert.ok(complaints.some((one) => one.includes("Content Security Policy")));
  complaints.length = 0; // these were asked for
});

journey(
  "the keyboard alone: from the login to an approval",
  async ({page, state}) => {
    await page.goto("/");
    await heading(page, "Log in");
    const press = (key) => page.keyboard.press(key);
    const tabTo = async (role, name) => {
      const target = page.getByRole(role, {name});
      for (let steps = 0; steps < 60; ++steps) {
        if ((await target.count()) && (await target.first().evaluate((one) => one === document.activeElement))) {
          const outline = await target.first().evaluate((one) => getComputedStyle(one).outlineStyle);
          assert.notEqual(outline, "none", `${name} does not show that it has the focus`);
          return;
        }
        await press("Tab");
      }
      assert.fail(`the key Tab does not come to ${name}`);
    };
    await tabTo("textbox", "Account");
    await page.keyboard.type("steward");
    await press("Tab");
    await page.keyboard.type(password);
    await press("Enter");
    await heading(page, "Inbox");
    await tabTo("link", "Readmission within thirty days");
    await press("Enter");
    await secret(page).waitFor();
    // The title of a new page has the focus, so that it is read out.
    assert.equal(await page.evaluate(() => document.activeElement.tagName), "H1");
    for (let steps = 0; !(await secret(page).evaluate((one) => one === document.activeElement)); ++steps) {
      assert.ok(steps < 60, "the key Tab does not come to the passphrase");
      await press("Tab");
    }
    await page.keyboard.type(passphrase);
    await press("Enter");
    await shown(page, "This site has approved.");
    assert.equal(state.studies[0].state, "approved");
    // Past the bar with one key.
    await page.reload();
    await heading(page, "Readmission within thirty days");
    await press("Tab");
    await press("Enter");
    assert.equal(await page.evaluate(() => document.activeElement.id), "main");
  },
  {studies: [study("settled")]}
);

journey(
  "paper gets the study without what is pressed",
  async ({page, loginAs, state, visit}) => {
    await loginAs("steward");
    await visit(`studies/${state.studies[0].study}`);
    await secret(page).waitFor();
    await page.emulateMedia({media: "print", colorScheme: "dark"});
    for (const gone of [".bar", ".decide", "footer"]) assert.equal(await page.locator(gone).isVisible(), false, gone);
    for (const text of ["Code of the plan", "What opens, and to whom"]) await shown(page, text);
    assert.equal(await page.evaluate(() => getComputedStyle(document.body).color), "rgb(28, 39, 51)");
    const pdf = await page.pdf({format: "A4"});
    assert.ok(pdf.length > 20_000);
    if (process.env.PARTITA_SHOTS) {
      const {writeFileSync} = await import("node:fs");
      writeFileSync(join(process.env.PARTITA_SHOTS, "study.pdf"), pdf);
    }
  },
  {studies: [study("settled")]}
);

// One entry of every kind, and what a peer may write as a reason.
function auditOf(one) {
  const of = {study: one.study, name: one.name};
  const words = [
    ["serve", {kind: "node", actor: "", outcome: "version 0.9.0"}],
    ["login", {outcome: "analyst"}],
    ["login-failed", {kind: "node", actor: "", subject: "anna", outcome: "and 3 more since the one before"}],
    ["proposal", of],
    ["approval", {...of, kind: "party", actor: "west", subject: "west", message: digest("e")}],
    ["run-begin", {...of, kind: "node", actor: "", outcome: "attempt 1"}],
    ["run-end", {...of, kind: "node", actor: "", outcome: "attempt 1: finished, something may have opened"}],
    ["rejection", {...of, kind: "party", actor: "north", subject: "north", outcome: `=1+1,"${hostile.markup}"`, message: digest("f")}],
    ["withdrawal", {...of, subject: "south", outcome: hostile.long}],
    ["study-end", {...of, kind: "node", actor: "", outcome: "withdrawn by south"}],
    ["invitation", {subject: "east"}], ["pairing", {subject: "east", outcome: "the digits agreed"}],
    ["party-listed", {subject: "east", outcome: `digits were compared, node key ${digest("4")}`}],
    ["party-revoked", {subject: "east"}], ["stop", {kind: "terminal", actor: ""}], ["go-on", {}],
    ["export", {...of, subject: "result.json"}], ["account-made", {subject: "bert", outcome: "auditor"}],
    ["password-set", {subject: "bert"}], ["account-deleted", {subject: "bert"}]
  ];
  return words.map(([action, changes], i) => auditEntry(i + 1, action, changes));
}

journey(
  "an auditor reads the log, by study and by person, and takes it along",
  async ({page, loginAs, state, see}) => {
    const [one] = state.studies;
    state.audit = auditOf(one);
    await loginAs("auditor");
    await page.getByRole("link", {name: "Audit", exact: true}).click();
    await heading(page, "Audit");
    await shown(page, "20 entries shown of 20");
    assert.equal(await page.locator("tbody tr").count(), 20);
    assert.match(await page.locator("tbody tr").first().innerText(), /deleted an account: bert/);
    assert.equal(await page.evaluate("window.harmed"), undefined);
    await see("audit");
    const saving = page.waitForEvent("download");
    await button(page, "Download as CSV").click();
    const saved = await saving;
    assert.equal(saved.suggestedFilename(), "audit.csv");
    const lines = readFileSync(await saved.path(), "utf8").split("\r\n");
    assert.equal(lines.length, 22);
    assert.equal(lines[0], "number,time,kind,actor,action,study,name,subject,outcome,message");
    // No formula, and quotation marks doubled.
    assert.ok(lines[13].includes(`,"'=1+1,""<img src=x onerror=""window.harmed=1"">`), lines[13]);
    await page.getByLabel("Who").fill("west");
    await button(page, "Show").click();
    await shown(page, "1 entry shown of 20");
    await page.getByLabel("Who").fill("nobody");
    await button(page, "Show").click();
    await shown(page, "No entry fits.");
    await see("audit-none");
    await page.getByLabel("Who").fill("");
    await page.getByLabel("Study", {exact: true}).selectOption(one.study);
    await button(page, "Show").click();
    await shown(page, "8 entries shown of 20");
    // The same from the study's own page.
    await page.locator("tbody a").first().click();
    await page.getByRole("link", {name: "What was done about this study"}).click();
    await heading(page, "Audit");
    await shown(page, "8 entries shown of 20");
  },
  {studies: [study("withdrawn")]}
);

journey(
  "an auditor takes the record of processing along",
  async ({page, loginAs, state, see, visit}) => {
    const [one, two, open] = state.studies;
    state.record = [
      recordEntry(open, {decisions: [], may_have_opened: false}),
      recordEntry(one, {began: time(-24 * 400), ended: time(-24 * 390), purpose: hostile.markup}),
      recordEntry(two)
    ];
    await loginAs("auditor");
    await visit("audit");
    const save = async () => {
      const saving = page.waitForEvent("download");
      await button(page, "Download the record").click();
      const saved = await saving;
      assert.equal(saved.suggestedFilename(), "record.csv");
      return readFileSync(await saved.path(), "utf8").split("\r\n").slice(0, -1);
    };
    const all = await save();
    await shown(page, "3 studies are in it.");
    assert.equal(all.length, 4);
    assert.ok(all[0].startsWith("study,name,title,purpose,ethics,legal_basis,contact,state,"), all[0]);
    assert.ok(all[1].includes(",EK 2026/117,Article 9(2)(j) GDPR,'=cmd|' /C calc'!A0,settled,north,"), all[1]);
    assert.ok(all[3].includes(",age (years); ward,"), all[3]);
    assert.ok(all[3].includes(` approval of south by account anna,`), all[3]);
    assert.equal(await page.evaluate("window.harmed"), undefined);
    await page.getByLabel("Open on this day or later").fill(time(-24 * 100).slice(0, 10));
    await save();
    await shown(page, "2 studies are in it.");
    await page.getByLabel("Begun on this day or before").fill(time(-24 * 50).slice(0, 10));
    await save();
    await shown(page, "0 studies are in it.");
    await see("record");
  },
  {studies: [study("finished"), study("failed"), study("settled")]}
);

journey(
  "a study that waits for days says so",
  async ({page, loginAs, state, see, visit}) => {
    const [old, fresh] = state.studies;
    Object.assign(old, {waits_since: time(-24 * 3 - 1)});
    Object.assign(fresh, {waits_since: time(-24 * 2 + 3)});
    await loginAs("steward");
    await shown(page, "waits 3 days");
    assert.equal(await page.getByText("waits 1 day", {exact: true}).count(), 0);
    await see("inbox-waits");
    await visit(`studies/${old.study}`);
    await shown(page, "It waits for the decision of this site's steward, for 3 days; 0 of 3 sites have approved.");
    await visit(`studies/${fresh.study}`);
    await shown(page, "It waits for the decision of this site's steward; 0 of 3 sites have approved.");
  },
  {studies: [study("settled"), study("settled", {name: "another"})]}
);

journey(
  "a steward reads what a study says it is for",
  async ({page, loginAs, state, see, visit}) => {
    const [one] = state.studies;
    await loginAs("steward");
    await visit(`studies/${one.study}`);
    await shown(page, "none is named");
    const declared = {purpose: hostile.markup, ethics: "EK 2026/117", legal_basis: "", contact: hostile.long};
    state.screens.set(one.study, {plan: {...one.plan, declared}});
    await page.reload();
    await shown(page, "EK 2026/117");
    await shown(page, "<b>bold</b>");
    assert.equal(await page.getByText("Legal basis").count(), 0);
    assert.equal(await page.evaluate("window.harmed"), undefined);
    await see("study-declares");
  },
  {studies: [study("settled")]}
);

journey("a long log comes by pages, and one that was changed says so", async ({page, loginAs, state, see, visit}) => {
  state.audit = Array.from({length: 250}, (_, i) => auditEntry(i + 1, "login", {outcome: "steward"}));
  await loginAs("steward");
  await visit("audit");
  await shown(page, "100 entries shown of 250, there are more");
  await button(page, "Show more").click();
  await shown(page, "200 entries shown of 250, there are more");
  await button(page, "Show more").click();
  await shown(page, "250 entries shown of 250");
  assert.equal(await button(page, "Show more").count(), 0);
  const numbers = await page.locator("tbody tr td:first-child").allInnerTexts();
  assert.deepEqual(numbers, Array.from({length: 250}, (_, i) => String(250 - i)));
  state.audit = state.audit.slice(0, 3);
  state.auditFault = {number: 2, what: "the entry is not the one that was written"};
  await page.reload();
  await shown(page, "The log is not as it was written, at entry 2.");
  await see("audit-fault");
});

journey("analysts have no audit log", async ({page, loginAs, visit}) => {
  await loginAs("analyst");
  assert.equal(await page.getByRole("link", {name: "Audit", exact: true}).count(), 0);
  await visit("audit");
  await heading(page, "Not for this account");
});

journey(
  "tables: their variables, budgets and uses, by role",
  async ({page, loginAs, state, see, visit, anew}) => {
    const card = (name) => page.getByRole("listitem").filter({has: page.getByRole("heading", {name, exact: true})});
    const logout = async () => {
      await button(page, "Log out").click();
      await heading(page, "Log in");
    };
    await loginAs("steward");
    await page.getByRole("link", {name: "Tables", exact: true}).click();
    await heading(page, "Tables");
    const stays = card("stays");
    for (const text of [/^1840, with 12 missing cells, as readmission reads it/, "were given of some of its rows: other rows are refused where few differ",
                        "Results without noise are allowed; 1 so far.", "CSV file"])
      await stays.getByText(text).first().waitFor();
    const cells = async (region) => (await page.getByRole("region", {name: region}).locator("tbody tr").allInnerTexts()).map((one) => one.replace(/\s+/g, " ").trim());
    assert.deepEqual(await cells("Budget of stays"), ["outsiders 87.5 % 12.5 % 0 % 3 at delta 1e-6", "each insider 66.6 % 33.4 % 0 % 3 at delta 1e-6"]);
    assert.equal(await page.getByRole("meter", {name: "Left of stays against each insider"}).getAttribute("value"), "0.666");
    await stays.getByText("What its budget went to: 2 entries").click();
    assert.match((await cells("Budget history of stays"))[1], /^4 23 Nov 2026 stopped-early 12.5 % 33.4 % 33.2 % refunded: nothing opened/);
    await stays.getByText("3 variables", {exact: true}).click();
    assert.deepEqual(await cells("Variables of stays"), ["age integer [18, 110] years", "ward factor medical, surgical, other", "days numeric [0, 400] days"]);
    await stays.getByText("Used by 2 studies of late").click();
    assert.deepEqual(await cells("Studies of stays"), [
      "readmission north 23 Nov 2026 finished approved", `${"e".repeat(12)} west 21 Oct 2026 rejected has not approved`
    ]);
    await card("visits").getByText("missing", {exact: true}).waitFor();
    await card("visits").getByText("The ledger has no account 'visits'.").waitFor();
    await card("wards").getByText("No privacy ledger is kept: studies that promise privacy are refused.").waitFor();
    await card("wards").getByText("not known before a study has frozen it").waitFor();
    await card("wards").getByText("No study of late uses it.").waitFor();
    await see("tables");
    // Analysts see what their studies can use, and nothing that was counted in a table.
    await logout();
    await loginAs("analyst");
    await visit("tables");
    await card("stays").getByText("3 variables", {exact: true}).click();
    await shown(page, "stewards and auditors see their budgets, too");
    assert.equal(await page.getByText("Privacy budget").count(), 0);
    assert.equal(await page.getByText("1840").count(), 0);
    assert.equal(await page.getByText("87.5 %").count(), 0);
    await see("tables-analyst");
    await logout();
    await loginAs("auditor");
    await visit("tables");
    await card("stays").getByText("87.5 %").waitFor();
    state.tables = [];
    state.budgets = [];
    await anew("tables");
    await shown(page, "Whoever operates the node adds a");
  },
  {
    tables: [
      table("stays"),
      table("visits", {source: "PostgreSQL database", present: false, dictionary: null}),
      table("wards", {source: "SPSS file", dictionary: null, studies: []})
    ],
    budgets: [
      tableBudget("stays"),
      tableBudget("visits", {problem: "the ledger has no account 'visits'", budget: null, exact_served: false}),
      tableBudget("wards", {budget: null, exact_served: false, frozen: null})
    ]
  }
);

journey(
  "tables: words of others are text, and long ones do not break the page",
  async ({page, loginAs, see, visit}) => {
    await loginAs("steward");
    await visit("tables");
    for (const summary of [/^What its budget went to/, /variables?$/, /^Used by/]) await page.locator("summary").filter({hasText: summary}).first().click();
    await shown(page, hostile.markup);
    assert.equal(await page.evaluate(() => window.harmed), undefined);
    assert.equal(await page.locator("main img, main script").count(), 0);
    await shown(page, "and 470 more");
    await see("hostile-tables");
  },
  {
    tables: [
      table("stays", {
        dictionary: {
          study: digest("f"), name: hostile.markup,
          variables: [
            {name: hostile.long.slice(0, 128), type: "factor", unit: hostile.markup, bounds: "", levels: Array.from({length: 500}, (_, i) => `${hostile.long} ${i}`)},
            {name: hostile.turned, type: "factor", unit: "", bounds: "", levels: [hostile.markup, hostile.turned]}
          ]
        },
        studies: [{study: digest("f"), name: hostile.long, proposer: hostile.long, state: "failed", charged: false, began: time(-9), approved: true}]
      })
    ],
    budgets: [
      tableBudget("stays", {
        budget: {
          ...tableBudget("stays").budget,
          history: [{number: 2, time: time(-900), study: hostile.long, outside: "1 %", insider: "1 %", left: "1 %", outcome: `refunded: ${hostile.markup}`, mechanisms: hostile.long}]
        }
      })
    ]
  }
);

// The row of a variable in the editor.
const rowOf = (page, name) => page.getByRole("listitem").filter({has: page.getByRole("heading", {level: 3, name: new RegExp(`^${name} `)})});

journey(
  "dictionary: a steward writes one, by keyboard",
  async ({page, asked, loginAs, state, see, visit}) => {
    await loginAs("steward");
    await visit("tables");
    await page.getByRole("link", {name: "Write a dictionary of stays"}).click();
    await heading(page, "Dictionary of stays");
    await shown(page, "There is none yet.");
    assert.equal(await button(page, "Save the dictionary").getAttribute("aria-disabled"), "true");
    await button(page, "Add the columns of the table").click();
    await page.getByRole("status").filter({hasText: "3 columns were added, hidden from other sites."}).waitFor();
    await page.getByText("1 column was left out").click();
    await shown(page, "pid: another text in every row: it names the row");
    // What was drafted can be saved as it is: nothing of it is offered.
    await page.getByText("'age': new, hidden").waitFor();
    await page.getByRole("button", {name: "Edit age"}).press("Enter");
    const age = page.getByRole("group", {name: "Fields of age"});
    await age.getByLabel("Other sites may see it and ask for it").press("Space");
    await rowOf(page, "age").getByText("This variable needs the key 'lower'.").waitFor();
    await shown(page, "1 variable is not complete: mend, hide or remove it to save.");
    assert.match(await page.getByRole("group", {name: "Fields of age"}).getAttribute("aria-describedby"), /wrong$/);
    await see("dictionary-wrong");
    await age.getByLabel("Lower bound").fill("18");
    await age.getByLabel("Upper bound").fill("110");
    await age.getByLabel("Unit").fill("years");
    await age.getByLabel("Description").fill("at admission");
    await rowOf(page, "age").getByText("This variable needs the key 'lower'.").waitFor({state: "detached"});
    // Another type has other fields, and keeps what was typed for the first one.
    await age.getByLabel("Type").selectOption("factor");
    assert.equal(await age.getByLabel("Unit").count(), 0);
    await age.getByLabel("Levels").fill("young\nold");
    await age.getByLabel("Type").selectOption("integer");
    assert.equal(await age.getByLabel("Unit").inputValue(), "years");
    // The focus stays where it was pressed.
    await page.getByRole("button", {name: "Move age down"}).press("Enter");
    await page.getByRole("status").filter({hasText: "age is now number 2 of 3."}).waitFor();
    const focused = () => page.evaluate(() => document.activeElement.getAttribute("aria-label"));
    assert.equal(await focused(), "Move age down");
    await page.keyboard.press("Enter");
    await page.getByRole("status").filter({hasText: "age is now number 3 of 3."}).waitFor();
    assert.equal(await focused(), "Move age down");
    for (const [way, number] of [["up", 2], ["up", 1], ["down", 2]]) {
      await page.getByRole("button", {name: `Move age ${way}`}).press("Enter");
      await page.getByRole("status").filter({hasText: `age is now number ${number} of 3.`}).waitFor();
      assert.equal(await focused(), `Move age ${way}`);
    }
    await page.getByRole("button", {name: "Remove ward"}).press("Enter");
    await page.getByRole("status").filter({hasText: "ward was removed."}).waitFor();
    assert.match(await page.evaluate(() => document.activeElement.id), /^variable-[0-9]+-edit$/);
    await button(page, "Add a variable").press("Enter");
    const fresh = page.getByRole("group", {name: "Fields of the new variable"});
    await fresh.getByLabel("Name").fill("ward");
    const ward = page.getByRole("group", {name: "Fields of ward"});
    await ward.getByLabel("Type").selectOption("ordered");
    await ward.getByLabel("Levels").fill("low\n high \n\n");
    await ward.getByLabel("Missing codes").fill("?");
    await ward.getByLabel("Other sites may see it and ask for it").check();
    await page.getByText("'ward': new, visible").waitFor();
    assert.ok(!asked().some((what) => what.endsWith("/dictionary")));
    await button(page, "Save the dictionary").press("Enter");
    await page.getByRole("status").filter({hasText: "Saved."}).waitFor();
    await shown(page, "Nothing differs from what is saved.");
    assert.equal(await button(page, "Save the dictionary").getAttribute("aria-disabled"), "true");
    const {body} = state.log.find(({what}) => what.endsWith("/tables/stays/dictionary"));
    assert.equal(body.version, "");
    assert.deepEqual(body.variables, [
      variable("age", {type: "integer", lower: "18", upper: "110", unit: "years", description: "at admission"}),
      variable("income", {lower: "", upper: "", hidden: true}),
      variable("ward", {type: "ordered", lower: "", upper: "", levels: ["low", "high"], missing_codes: ["?"]})
    ]);
    await see("dictionary-saved");
    // Once more, over the version that was just saved.
    await ward.getByLabel("Description").fill("of the first day");
    await page.getByText("'ward': changed").waitFor();
    await button(page, "Save the dictionary").click();
    await shown(page, "Nothing differs from what is saved.");
    assert.equal(state.tables[0].own.variables[2].description, "of the first day");
    assert.equal(await page.getByRole("alert").count(), 0);
    await page.getByRole("link", {name: "Tables", exact: true}).first().click();
    await heading(page, "Tables");
    await page.getByText("Dictionary of this site: 3 variables, 1 hidden").click();
    await see("tables-own");
  },
  {tables: [table("stays", {dictionary: null})], budgets: [tableBudget("stays")]}
);

journey(
  "dictionary: nothing is saved over what another steward saved",
  async ({page, loginAs, fake, state, see, visit}) => {
    await loginAs("steward");
    await visit("tables/stays");
    await heading(page, "Dictionary of stays");
    await page.getByRole("button", {name: "Edit age"}).click();
    const age = page.getByRole("group", {name: "Fields of age"});
    await age.getByLabel("Upper bound").fill("120");
    await page.getByText("'age': upper bound '120' instead of '110'").waitFor();
    // Meanwhile: what is typed stays, and is not saved.
    state.tables[0].own = dictionaryOf([...wardVariables(), variable("days")], digest("2"));
    fake.news();
    await button(page, "Save the dictionary").click();
    await page.getByRole("alert").filter({hasText: "The dictionary was saved by somebody else since you opened it."}).waitFor();
    assert.equal(await age.getByLabel("Upper bound").inputValue(), "120");
    assert.equal(state.tables[0].own.variables.length, 4);
    await see("dictionary-another");
    await button(page, "Drop my changes …").click();
    await button(page, "Drop my changes").click();
    await page.getByRole("heading", {level: 3, name: /^days /}).waitFor();
    await shown(page, "Nothing differs from what is saved.");
    await page.getByRole("button", {name: "Edit age"}).click();
    assert.equal(await age.getByLabel("Upper bound").inputValue(), "110");
    // A file that was broken by hand is told of, and replaced by what is saved.
    state.tables[0].own = {...dictionaryOf([], digest("3")), problem: "dictionary:3:1: unknown key 'lowr'"};
    await visit("tables");
    await heading(page, "Tables");
    await shown(page, "The dictionary of this table cannot be read, so no study of it is valid here.");
    await page.getByRole("link", {name: "Edit the dictionary of stays"}).click();
    await heading(page, "Dictionary of stays");
    await shown(page, "What you save here takes its place.");
  },
  {tables: [table("stays", {own: dictionaryOf(wardVariables())})], budgets: [tableBudget("stays")]}
);

journey(
  "dictionary: by role, and in a study file",
  async ({page, loginAs, state, see, visit}) => {
    await loginAs("analyst");
    await visit("tables");
    await page.getByText("Dictionary of this site: 3 variables, 1 hidden").click();
    const rows = await page.getByRole("region", {name: "Dictionary of stays"}).locator("tbody tr").allInnerTexts();
    assert.deepEqual(rows.map((one) => one.replace(/\s+/g, " ").trim()), [
      "age may ask integer [18, 110] years at admission", "ward may ask factor medical, surgical, other; missing: ?", "income hidden numeric not said"
    ]);
    assert.equal(await page.getByRole("link", {name: /dictionary of stays/}).count(), 0);
    await visit("tables/stays");
    await heading(page, "Not for this account");
    await visit("studies/new");
    await heading(page, "New study");
    await page.getByText("Variables of this site's table stays: 2 variables").click();
    assert.equal(await page.getByRole("button", {name: /income/}).count(), 0);
    await page.getByLabel("Study file", {exact: true}).fill("partita = 1\n");
    await page.getByRole("button", {name: "Add ward"}).click();
    assert.equal(await page.getByLabel("Study file", {exact: true}).inputValue(), 'partita = 1\n\n[[variable]]\nname = "ward"\ntype = "factor"\n');
    assert.equal(await page.getByRole("button", {name: "In the file: ward"}).getAttribute("aria-disabled"), "true");
    await see("new-offered");
  },
  {tables: [table("stays", {own: dictionaryOf(wardVariables())})]}
);

journey(
  "dictionary: words of others are text, and long ones do not break the page",
  async ({page, loginAs, see, visit}) => {
    await loginAs("steward");
    await visit("tables");
    await page.getByText("Dictionary of this site: 3 variables").click();
    await see("hostile-tables-own");
    await visit("tables/stays");
    await heading(page, "Dictionary of stays");
    await shown(page, "[U+202E]");
    for (const at of [0, 1, 2]) {
      await page.locator("ol.variables > li").nth(at).getByRole("button", {name: /^Edit/}).click();
      await see(`hostile-dictionary-${at}`);
    }
    assert.equal(await page.evaluate(() => window.harmed), undefined);
    assert.equal(await page.locator("main img, main script").count(), 0);
  },
  {
    tables: [
      table("stays", {
        own: dictionaryOf([
          variable(hostile.long.slice(0, 64), {unit: hostile.markup, description: hostile.long.slice(0, 500), lower: hostile.long.slice(0, 60)}),
          variable("levels", {type: "factor", lower: "", upper: "", levels: Array.from({length: 500}, (_, i) => `${hostile.long} ${i}`), missing_codes: [hostile.long, hostile.turned]}),
          variable("turned", {description: hostile.turned, unit: hostile.turned})
        ])
      })
    ],
    budgets: [tableBudget("stays")]
  }
);

journey(
  "a steward sees where a study departs from the dictionary, and approves no other table",
  async ({page, loginAs, state, see, visit}) => {
    const [waits] = state.studies;
    const [one, other] = [digest("d"), digest("e")];
    const shownTable = {name: "stays", digest: one, rows: 1840, missing_cells: 12, edition: "", budget: "", dictionary: "The study departs from the dictionary of stays in 1 place:\n'age' is in [0, 120] in the study, [18, 110] in the dictionary\n"};
    state.screens.set(waits.study, {table: shownTable});
    await loginAs("steward");
    await visit(`studies/${waits.study}`);
    await shown(page, "'age' is in [0, 120] in the study, [18, 110] in the dictionary");
    await see("study-departs");
    state.screens.set(waits.study, {table: {...shownTable, digest: other}});
    await secret(page).fill(passphrase);
    await button(page, "Approve").click();
    await page.getByRole("alert").filter({hasText: "The table changed since you looked at it."}).waitFor();
    assert.equal(state.log.at(-1).body.table, one);
    assert.equal(waits.state, "settled");
  },
  {studies: [study("settled")]}
);

journey(
  "policies: what was signed by them, and one that is ended",
  async ({page, loginAs, state, see, visit, anew}) => {
    await loginAs("steward");
    await page.getByRole("link", {name: "Policies", exact: true}).click();
    await heading(page, "Policies");
    const card = (name) => page.getByRole("listitem").filter({has: page.getByRole("heading", {name, exact: true})});
    for (const text of ["holds", "3 of 5 studies", "8.86 of 12", "nothing"]) await card("pressure-weekly").getByText(text, {exact: true}).first().waitFor();
    for (const text of ["used up", "1 of 1 study", "1 study file, named byte for byte"]) await card("again").getByText(text).first().waitFor();
    await card("later").getByText("not yet", {exact: true}).waitFor();
    await card("before").getByText("over", {exact: true}).waitFor();
    const rows = card("pressure-weekly").locator("tbody tr");
    assert.deepEqual(await rows.allInnerTexts().then((all) => all.map((one) => one.split("\t").slice(0, 2).join(" "))), [
      `1 ${"1".repeat(12)}`, "2 readmission", "3 readmission"
    ]);
    await card("pressure-weekly").getByText("Its exact text").click();
    assert.ok((await page.getByRole("region", {name: "Text of pressure-weekly"}).innerText()).includes('name = "pressure-weekly"'));
    await page.getByText("partita node policy add FILE --at FOLDER-OF-THE-NODE").waitFor();
    await see("policies");
    await button(page, "End again …").click();
    await secret(page).fill("wrong");
    await button(page, "End again").click();
    await shown(page, "The passphrase is wrong.");
    await see("policies-end");
    await secret(page).fill(passphrase);
    await button(page, "End again").click();
    await shown(page, "The policy again is ended.");
    assert.equal(await card("again").count(), 0);
    assert.deepEqual(state.log.at(-1), {what: "POST /api/v1/policies/again/end", body: {passphrase}});
    state.policies = [];
    await anew("policies");
    await shown(page, "There is no policy: every study waits for the steward.");
    state.signer = false;
    await anew("policies");
    await shown(page, "These pages have no signer.");
    state.signer = true;
    state.policies = [policy("pressure-weekly")];
    await button(page, "Log out").click();
    await heading(page, "Log in");
    await loginAs("auditor");
    await visit("policies");
    await card("pressure-weekly").waitFor();
    assert.equal(await button(page, "End pressure-weekly …").count(), 0);
    assert.equal(await page.getByText("partita node policy add").count(), 0);
    for (const role of ["analyst", "operator"]) {
      await button(page, "Log out").click();
      await heading(page, "Log in");
      await loginAs(role);
      assert.equal(await page.getByRole("link", {name: "Policies", exact: true}).count(), 0);
      await visit("policies");
      await heading(page, "Not for this account");
    }
  },
  {
    policies: [
      policy("pressure-weekly"),
      policy("again", {results: 1, max_results: 1, epsilon: 0, epsilon_in_all: 0, exact: 1, uses: [{number: 1, study: digest("e"), name: "readmission", epsilon: 0, approved: time(-50)}]}),
      policy("later", {from: time(24), uses: [], results: 0, epsilon: 0}),
      policy("before", {until: time(-24), uses: [], results: 0, epsilon: 0})
    ]
  }
);

journey(
  "a study as a policy is a draft for the terminal",
  async ({page, loginAs, state, see, visit}) => {
    const [good, none, bad] = state.studies;
    state.screens.set(good.study, {policy_draft: policyDraft});
    state.screens.set(none.study, {no_policy: ["a policy takes no study that sets a threshold"]});
    state.screens.set(bad.study, {name: hostile.markup, policy_draft: hostile.turned});
    await loginAs("steward");
    await visit(`studies/${good.study}`);
    await page.getByText("A draft: this study once more").click();
    assert.equal((await page.getByRole("region", {name: "Draft of a policy"}).innerText()).trim(), policyDraft.trim());
    await page.getByText("partita node policy add readmission-policy.toml --at").waitFor();
    await see("study-policy");
    const saving = page.waitForEvent("download");
    await button(page, "Download the draft").click();
    const saved = await saving;
    assert.equal(saved.suggestedFilename(), "readmission-policy.toml");
    assert.equal(readFileSync(await saved.path(), "utf8"), policyDraft);
    assert.deepEqual(state.log.map(({what}) => what), ["POST /api/v1/session"], "a draft signs nothing");
    await visit(`studies/${none.study}`);
    await shown(page, "A policy takes no study that sets a threshold.");
    await see("study-no-policy");
    await visit(`studies/${bad.study}`);
    await page.getByText("A draft: this study once more").click();
    // No peer's word gets into a command.
    await page.getByText("partita node policy add study-policy.toml --at").waitFor();
    await shown(page, "approved [U+202E]yb detcejer[U+202C] [U+200B]by[U+0007] all");
  },
  {studies: [study("finished"), study("settled"), study("settled")]}
);

journey("a node that stops answering says so, and comes back by itself", async ({fake, page, loginAs, state, see, visit}) => {
  await loginAs("auditor");
  await visit("studies");
  await shown(page, "No study is open.");
  state.down = true;
  fake.news();
  await shown(page, "The node does not answer.");
  await visit("parties");
  await button(page, "Try again").waitFor();
  await see("node-lost");
  state.down = false;
  await button(page, "Try again").click();
  await shown(page, "2 parties");
  await page.getByText("This page tries again by itself").waitFor({state: "hidden", timeout: 10_000});
});
});
