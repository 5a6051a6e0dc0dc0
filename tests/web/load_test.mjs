// One real node with its pages under load, as processes: 10,000 studies that are over; 200 idle and 50 hostile
// connections to each of its two ports. Prints what it measures, for docs/benchmarks.md.
// Works in PARTITA_SITES_FOLDER with the program PARTITA_PROGRAM.
import assert from "node:assert/strict";
import {execFileSync} from "node:child_process";
import {once} from "node:events";
import {readdirSync, readFileSync, writeFileSync} from "node:fs";
import {request} from "node:https";
import {connect} from "node:net";
import {join} from "node:path";
import {after, test} from "node:test";
import {connect as connectTls} from "node:tls";
import {Api, password, startSite, studyText} from "./sites.mjs";

const work = process.env.PARTITA_SITES_FOLDER;
const kStudies = 10_000;
const kIdle = 200, kHostile = 50;
const kStartSeconds = 2, kAnswerMs = 100;
// Of 250 connections: a TLS session, and 8 KiB of a header and 64 KiB of a body each (https_server.h).
const kGrowthMiB = 250 * 0.16;

let site, api;
const measured = (what, value) => console.log(`  ${what}: ${value}`);

after(() => site?.stop());

const median = (values) => [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)];

// Process numbers of the node and of its pages.
function processes(node) {
  const own = node.child.pid;
  const children = readFileSync(`/proc/${own}/task/${own}/children`, "utf8").trim().split(" ");
  const pages = children.find((pid) => readFileSync(`/proc/${pid}/cmdline`, "utf8").split("\0")[2] === "web");
  return {node: own, pages: Number(pages)};
}
const rssMiB = (pid) => Number(/VmRSS:\s+([0-9]+) kB/.exec(readFileSync(`/proc/${pid}/status`, "utf8"))[1]) / 1024;

test("a study that is over, 10,000 times", async () => {
  site = await startSite(process.env.PARTITA_PROGRAM, work, "north");
  api = new Api(site.web);
  const {node} = site;
  let answer = await api.ask("POST", "/api/v1/setup", {code: site.code, name: "anna", role: "steward", password});
  assert.equal(answer.status, 200, answer.text);
  // Nobody here knows south and west: it ends as it began.
  writeFileSync(join(work, "study.toml"), studyText("hours", "Hours of work"));
  const run = site.typed(["study", "run", "study.toml", "--at", "north", "--yes"]);
  assert.notEqual(await run.end(), 0);
  answer = await api.ask("GET", "/api/v1/studies?state=over");
  assert.equal(answer.status, 200, answer.text);
  const [one] = answer.json().studies;
  // Over also in the store: its run key is deleted.
  for (let open = 1; open > 0;) open = (await api.ask("GET", "/api/v1/node")).json().open_studies;
  node.child.kill("SIGTERM");
  assert.equal(await node.end(), 0);
  api.close();
  const database = join(site.folder, "state/node.sqlite");
  const sql = (text) => execFileSync("sqlite3", [database, text], {encoding: "utf8"}).trim();
  const id = one.study;
  const at = Number(sql(`SELECT instr(hex(state), '${id.toUpperCase()}') FROM study`));
  assert.ok(at > 0 && at % 2 === 1);
  const before = (at - 1) / 2;
  sql(`WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ${kStudies - 1}),
       made(id) AS MATERIALIZED (SELECT randomblob(32) FROM n)
       INSERT INTO study SELECT made.id, 0, CAST(substr(study.state, 1, ${before}) || made.id ||
       substr(study.state, ${before + 33}) AS BLOB) FROM study, made`);
  assert.equal(sql("SELECT count(*) FROM study WHERE is_open = 0"), String(kStudies));
});

test("a node with 10,000 studies starts in under 2 s, and answers in under 100 ms", async () => {
  await site.serve();
  api = new Api(site.web);
  measured("start with 10,000 studies", `${site.startSeconds.toFixed(2)} s`);
  assert.ok(site.startSeconds < kStartSeconds, `${site.startSeconds} s`);
  let answer = await api.ask("POST", "/api/v1/session", {name: "anna", password});
  assert.equal(answer.status, 200, answer.text);
  // Pages of the list that nobody has seen yet.
  const times = [];
  let after = "", seen = 0, last;
  for (let i = 0; i < 15; ++i) {
    answer = await api.ask("GET", `/api/v1/studies?state=over&limit=50&after=${after}`);
    assert.equal(answer.status, 200, answer.text);
    times.push(answer.ms);
    const {studies, next} = answer.json();
    assert.equal(studies.length, 50);
    assert.equal(studies[0].title, "Hours of work");
    seen += studies.length;
    after = next;
    last = studies[49].study;
  }
  measured("a page of 50 that is new", `${median(times).toFixed(0)} ms, ${Math.max(...times).toFixed(0)} ms at most`);
  const others = {};
  for (const [what, path] of [
    ["the first page again", "/api/v1/studies?state=over&limit=50"],
    ["a page of 100 from the middle", "/api/v1/studies?state=over&limit=100&after=5000"],
    ["one study", `/api/v1/studies/${last}`],
    ["the node", "/api/v1/node"],
    ["parties", "/api/v1/parties"],
    ["open studies", "/api/v1/studies?state=open"],
    ["the page itself", "/"]
  ]) {
    const each = [];
    for (let i = 0; i < 9; ++i) {
      answer = await api.ask("GET", path);
      assert.equal(answer.status, 200, `${what}: ${answer.text}`);
      each.push(answer.ms);
    }
    others[what] = median(each);
    measured(what, `${others[what].toFixed(1)} ms, the first ${each[0].toFixed(0)} ms`);
  }
  assert.ok(median(times) < kAnswerMs, `new pages of the list: ${times.map((ms) => ms.toFixed(0))}`);
  for (const [what, ms] of Object.entries(others)) assert.ok(ms < kAnswerMs, `${what}: ${ms} ms`);
});

// From many addresses of this machine, as if from many machines.
const from = (i) => ({host: "127.0.0.1", localAddress: `127.0.${1 + (i >> 5)}.${1 + (i % 32)}`});

async function idle(port, i) {
  const socket = connectTls({...from(i), port, rejectUnauthorized: false, servername: "localhost"});
  socket.on("error", () => {});
  await Promise.race([once(socket, "secureConnect"), once(socket, "close")]);
  return socket;
}

// What does not keep to the rules of the protocol, five ways of it.
async function hostile(port, i) {
  const raw = () => {
    const socket = connect({...from(i), port});
    socket.on("error", () => {});
    return socket;
  };
  switch (i % 5) {
    case 0: // nothing
      return raw();
    case 1: {
      // The beginning of a ClientHello, then a byte at a time.
      const socket = raw();
      const hello = Buffer.from([0x16, 3, 1, 1, 0, 1, 0, 0, 0xfc, 3, 3, ...Buffer.alloc(200)]);
      let sent = 6;
      socket.write(hello.subarray(0, sent));
      socket.slow = setInterval(() => socket.writable && socket.write(hello.subarray(sent, ++sent)), 100);
      return socket;
    }
    case 2: {
      // A header that does not end.
      const socket = await idle(port, i);
      if (socket.writable) socket.write("GET / HTTP/1.1\r\n");
      socket.slow = setInterval(() => socket.writable && socket.write("a: b\r\n"), 100);
      return socket;
    }
    case 3: {
      // A header of 4 MiB.
      const socket = await idle(port, i);
      if (socket.writable) socket.write(`GET / HTTP/1.1\r\nHost: localhost\r\na: ${"a".repeat(4 << 20)}\r\n\r\n`);
      return socket;
    }
    default: {
      // A body that is announced, and does not come.
      const socket = await idle(port, i);
      if (socket.writable)
        socket.write("POST /api/v1/session HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 60000\r\n\r\n{");
      return socket;
    }
  }
}

for (const [what, portOf, pidOf] of [
  ["the port of the pages", () => site.web, (pids) => pids.pages],
  ["the port of the nodes", () => site.port, (pids) => pids.node]
]) {
  test(`200 idle and 50 hostile connections to ${what}`, async () => {
    const pids = processes(site.node);
    const pid = pidOf(pids), port = portOf();
    const before = rssMiB(pid);
    const sockets = [];
    for (let i = 0; i < kIdle; ++i) sockets.push(await idle(port, i));
    const open = sockets.filter((socket) => !socket.destroyed).length;
    const idleRss = rssMiB(pid);
    for (let i = 0; i < kHostile; ++i) sockets.push(await hostile(port, kIdle + i));
    let most = rssMiB(pid);
    const times = [];
    for (let i = 0; i < 40; ++i) {
      const {ms, status} = await api.ask("GET", "/api/v1/node");
      assert.equal(status, 200);
      times.push(ms);
      most = Math.max(most, rssMiB(pid));
    }
    // Somebody new gets in.
    const {status} = await new Promise((answered, failed) => {
      request({host: "127.0.0.1", port: site.web, path: "/healthz", rejectUnauthorized: false, agent: false,
        headers: {Host: `localhost:${site.web}`}}, (response) => {
        response.resume();
        answered({status: response.statusCode});
      }).on("error", failed).end();
    });
    assert.equal(status, 200);
    for (const socket of sockets) {
      clearInterval(socket.slow);
      socket.destroy();
    }
    measured(what, `${before.toFixed(1)} MiB; with ${open} of ${kIdle} idle connections ${idleRss.toFixed(1)} MiB; ` +
      `with ${kHostile} hostile ones ${most.toFixed(1)} MiB; a request meanwhile ${median(times).toFixed(1)} ms`);
    assert.ok(most - before < kGrowthMiB, `${before} MiB became ${most} MiB`);
    assert.ok(median(times) < kAnswerMs, `${median(times)} ms`);
  });
}

test("it ends in order", async () => {
  api.close();
  site.node.child.kill("SIGTERM");
  assert.equal(await site.node.end(), 0, site.node.err.text);
  assert.deepEqual(readdirSync(work).sort(), ["north", "north-steward", "study.toml"]);
});
