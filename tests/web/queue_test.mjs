// PARTITA_STUDIES studies at three real nodes that run one at a time each, proposed by all three, so that they ask
// each other for slots at the same time; stewards approve by the API as fast as it goes. None may hang.
// Works in PARTITA_SITES_FOLDER with the program PARTITA_PROGRAM.
import assert from "node:assert/strict";
import {after, test} from "node:test";
import {Api, password, patients, phrase, startSite, studyText} from "./sites.mjs";

const work = process.env.PARTITA_SITES_FOLDER;
const kStudies = Number(process.env.PARTITA_STUDIES);
const kNames = ["north", "west", "south"];
const kSecondsEach = 30; // far more than a study takes: what waits for ever is found

const sites = {}, stewards = {}, analysts = {};
after(() => Promise.all(Object.values(sites).map((site) => site.stop())));

// Until `look` answers with something.
async function until(look, what) {
  for (let tries = 0; tries < 2000; ++tries) {
    const found = await look();
    if (found !== undefined) return found;
  }
  throw new Error(`${what} did not come`);
}

async function meet(inviter, joiner) {
  const [first, second] = [stewards[inviter], stewards[joiner]];
  const {line, number} = await first.post("/invitations", {name: joiner});
  const joined = await second.post("/pairings", {line});
  const own = await until(async () => {
    const pairing = await first.get(`/pairings/${number}`);
    return pairing.state === "digits" ? pairing : undefined;
  }, "digits");
  await first.post(`/pairings/${number}/digits`, {digits: joined.shown});
  await second.post(`/pairings/${joined.number}/digits`, {digits: own.shown});
  await first.post(`/pairings/${number}/confirm`, {passphrase: phrase});
  await second.post(`/pairings/${joined.number}/confirm`, {passphrase: phrase});
  for (const [api, id] of [[first, number], [second, joined.number]]) {
    await until(async () => ((await api.get(`/pairings/${id}`)).state === "met" ? true : undefined), "the other's word");
    await api.post(`/pairings/${id}/confirm`, {});
  }
}

test("three sites know each other", async () => {
  await Promise.all(
    kNames.map(async (name, i) => {
      const site = await startSite(process.env.PARTITA_PROGRAM, work, name, patients(i + 1, 30));
      sites[name] = site;
      const api = (stewards[name] = new Api(site.web));
      await api.post("/setup", {code: site.code, name: "anna", role: "steward", password});
      await api.post("/accounts", {name: "bert", role: "analyst", password, current: password});
      analysts[name] = new Api(site.web);
      await analysts[name].post("/session", {name: "bert", password});
    })
  );
  await meet("north", "west");
  await meet("north", "south");
  await meet("west", "south");
});

test(`${kStudies} studies are all finished`, async () => {
  const began = Date.now();
  const proposed = kNames.map(async (name, i) => {
    for (let number = i; number < kStudies; number += kNames.length)
      await analysts[name].post("/studies", {file: studyText(`study-${number}`, `Study ${number}`), days: 7});
  });
  const finished = kNames.map(async (name) => {
    const api = stewards[name];
    for (let done = 0; done < kStudies; ) {
      const {studies} = await api.get("/studies?state=all&limit=100");
      for (const {study, needs_decision} of studies) {
        if (!needs_decision) continue;
        const {code, can_approve, table} = await api.get(`/studies/${study}/for-steward`);
        if (can_approve) await api.post(`/studies/${study}/approve`, {code, table: table?.digest ?? "", passphrase: phrase});
      }
      const over = studies.filter(({is_over}) => is_over);
      for (const one of over) assert.equal(one.state, "finished", `${name}: ${one.name}: ${one.reason}`);
      done = over.length;
      assert.ok(Date.now() - began < kStudies * kSecondsEach * 1000, `${name}: ${done} of ${kStudies} are finished`);
    }
  });
  await Promise.all([...proposed, ...finished]);
  const seconds = (Date.now() - began) / 1000;
  console.log(`  ${kStudies} studies, approved and run: ${seconds.toFixed(0)} s, ${(seconds / kStudies).toFixed(2)} s each`);
});

test("no attempt was in vain, at any site", async () => {
  await Promise.all(
    kNames.map(async (name) => {
      const {studies} = await stewards[name].get("/studies?state=over&limit=100");
      assert.equal(studies.length, kStudies);
      assert.deepEqual(studies.filter(({attempt}) => attempt !== 0), [], "none in vain");
      assert.equal(studies.filter(({ended}) => ended.length === 3).length, kStudies);
    })
  );
});
