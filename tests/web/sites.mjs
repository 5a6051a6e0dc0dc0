// Real sites for journeys: a folder each, with a node, a signer and the pages as processes on free ports of this
// machine. What a person types at a terminal is counted; nothing is waited for but what a process says itself.
import {spawn} from "node:child_process";
import {once} from "node:events";
import {appendFileSync, existsSync, readFileSync, writeFileSync} from "node:fs";
import {Agent, request} from "node:https";
import {createServer} from "node:net";
import {join} from "node:path";

export const phrase = "several words of a steward";
export const password = "twelve letters and more";
const kPatience = 30_000; // ms, for whatever a process is waited for

export async function freePort() {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const {port} = server.address();
  server.close();
  await once(server, "close");
  return port;
}

// A process whose lines are looked through: `line` waits for one that fits, from the beginning on.
class Running {
  #waiting = new Set();
  lines = [];
  ended = false;

  constructor(program, words, {folder, secret, input} = {}) {
    this.what = words.join(" ");
    this.child = spawn(program, words, {cwd: folder, stdio: ["pipe", "pipe", "pipe", "pipe"]});
    // Nobody reads a secret that is not asked for.
    for (const stream of [this.child.stdin, this.child.stdio[3]]) stream.on("error", () => {});
    this.child.stdio[3].end(secret === undefined ? "" : `${secret}\n`);
    if (input !== "open") this.child.stdin.end(input ?? "");
    this.out = this.#follow(this.child.stdout);
    this.err = this.#follow(this.child.stderr);
    this.child.on("close", (status) => {
      this.ended = true;
      this.status = status;
      this.#look();
    });
  }

  #follow(stream) {
    const whole = {text: ""};
    let rest = "";
    stream.setEncoding("utf8").on("data", (text) => {
      whole.text += text;
      const lines = (rest + text).split("\n");
      rest = lines.pop();
      this.lines.push(...lines);
      this.#look();
    });
    return whole;
  }

  #look() {
    for (const waiter of this.#waiting) waiter();
  }

  until(is, what) {
    return new Promise((found, fail) => {
      const done = (act, value) => {
        clearTimeout(timer);
        this.#waiting.delete(look);
        act(value);
      };
      const look = () => {
        const value = is();
        if (value !== undefined) done(found, value);
        else if (this.ended) done(fail, new Error(`'${this.what}' ended (${this.status}) without ${what}:\n${this.err.text}`));
      };
      const timer = setTimeout(
        () => done(fail, new Error(`'${this.what}' gave no ${what} in time:\n${this.err.text}`)),
        kPatience
      );
      this.#waiting.add(look);
      look();
    });
  }

  line = (pattern) =>
    this.until(() => this.lines.map((line) => pattern.exec(line)).find((match) => match !== null) ?? undefined, pattern);

  end = () => this.until(() => (this.ended ? this.status : undefined), "end");
}

export class Site {
  commands = []; // that somebody typed
  running = [];

  constructor(program, work, name, port) {
    Object.assign(this, {program, work, name, port});
    this.folder = join(work, name);
    this.steward = join(work, `${name}-steward`);
  }

  get address() {
    return `127.0.0.1:${this.port}`;
  }

  start(words, options = {}) {
    const process = new Running(this.program, words, {folder: this.work, ...options});
    this.running.push(process);
    return process;
  }

  // A person types it, and reads what it prints.
  typed(words, options) {
    this.commands.push(words.join(" "));
    return this.start(words, options);
  }

  async done(words, options) {
    const process = this.typed(words, options);
    const status = await process.end();
    if (status !== 0) throw new Error(`'${words.join(" ")}' ended with ${status}: ${process.err.text}`);
    return process.out.text;
  }

  async serve() {
    const words = ["node", "serve", this.name, "--web", "--listen", `127.0.0.1:${await freePort()}`, "--sign", `${this.name}-steward`];
    const began = performance.now();
    this.node = this.typed(words);
    await this.node.line(/"event":"serving","name":/);
    this.startSeconds = (performance.now() - began) / 1000;
    const [, port] = await this.node.line(/"event":"pages","address":"https:\/\/127\.0\.0\.1:([0-9]+)\/"/);
    await this.node.line(/"event":"serving","site":/);
    this.web = Number(port);
  }

  // A text of node.toml that an operator writes: the only file that anybody edits.
  write(text) {
    appendFileSync(join(this.folder, "node.toml"), text);
  }

  table(name, rows) {
    const file = join(this.work, `${this.name}-${name}.csv`);
    writeFileSync(file, rows);
    return file;
  }

  async stop() {
    for (const process of this.running) if (!process.ended) process.child.kill("SIGTERM");
    for (const process of this.running) {
      const late = setTimeout(() => process.child.kill("SIGKILL"), 10_000);
      await process.end().catch(() => {});
      clearTimeout(late);
    }
  }

  log() {
    return this.running.map((process) => process.err.text).join("");
  }
}

// A person's session without a browser, on one connection.
export class Api {
  #agent = new Agent({keepAlive: true, maxSockets: 1, rejectUnauthorized: false});
  #cookies = new Map();
  #csrf = "";

  constructor(port) {
    this.port = port;
  }

  close() {
    this.#agent.destroy();
  }

  // `ms` until the whole answer is here.
  ask(method, path, body) {
    const began = performance.now();
    return new Promise((answered, failed) => {
      const host = `localhost:${this.port}`;
      const headers = {Host: host, Origin: `https://${host}`};
      if (this.#cookies.size) headers.Cookie = [...this.#cookies].map((pair) => pair.join("=")).join("; ");
      if (this.#csrf && method !== "GET") headers["Partita-Csrf"] = this.#csrf;
      if (body) headers["Content-Type"] = "application/json";
      const options = {host: "127.0.0.1", port: this.port, method, path, agent: this.#agent, headers};
      const asked = request(options, (response) => {
        const parts = [];
        response.on("data", (part) => parts.push(part));
        response.on("end", () => {
          const text = Buffer.concat(parts).toString();
          for (const set of response.headers["set-cookie"] ?? []) {
            const [, name, value] = /^([^=]+)=([^;]*)/.exec(set);
            this.#cookies.set(name, value);
          }
          const answer = {ms: performance.now() - began, status: response.statusCode, text, json: () => JSON.parse(text)};
          if (/\/(session|setup)$/.test(path) && answer.status === 200) this.#csrf = answer.json().csrf ?? this.#csrf;
          answered(answer);
        });
      });
      asked.on("error", failed);
      asked.end(body && JSON.stringify(body));
    });
  }

  // What is answered, which must be well.
  async get(path) {
    return this.#well("GET", path);
  }
  async post(path, body) {
    return this.#well("POST", path, body);
  }
  async #well(method, path, body) {
    const answer = await this.ask(method, `/api/v1${path}`, body);
    if (answer.status !== 200 && answer.status !== 204) throw new Error(`${method} ${path}: ${answer.status} ${answer.text}`);
    return answer.status === 204 ? null : answer.json();
  }
}

// One that serves with its pages and its signer, as two commands make it; `code` is for the first account.
export async function startSite(program, work, name, table) {
  const site = new Site(program, work, name, await freePort());
  const said = await site.done(
    ["node", "init", name, "--name", name, "--address", site.address, "--steward", `${name}-steward`, "--setup-code",
      "--passphrase-fd", "3"],
    {secret: phrase}
  );
  [, site.code] = /^([0-9a-z]{4}(-[0-9a-z]{4}){3})$/m.exec(said);
  if (table) site.write(`\n[[table]]\nname = "patients"\ndata = "${site.table("patients", table)}"\n`);
  await site.serve();
  return site;
}

export const fileOf = (site, name) => {
  const file = join(site.work, name);
  return existsSync(file) ? readFileSync(file, "utf8") : "";
};

// Patients of a site: numbers that differ from site to site, the same every time.
export function patients(seed, rows) {
  let state = seed;
  const next = () => {
    state = (state * 1103515245 + 12345) % 2147483648;
    return state / 2147483648;
  };
  const lines = ["age,dose,days"];
  for (let i = 0; i < rows; ++i) {
    const age = 20 + 60 * next(), dose = 10 * next();
    lines.push([age, dose, 3 + 0.1 * age - 0.3 * dose + 2 * next()].map((value) => value.toFixed(2)).join(","));
  }
  return `${lines.join("\n")}\n`;
}

// Three holders, of which north receives; `minRows`: what is checked before anything opens.
export const studyText = (name, title, minRows = 20) => `partita = 1
name = "${name}"
title = "${title}"
${["north", "south", "west"]
  .map(
    (party) => `
[[party]]
name = "${party}"
roles = [${party === "north" ? '"holder", "receiver"' : '"holder"'}]
rows = ["${party}-patients"]

[[rows]]
name = "${party}-patients"
`
  )
  .join("")}
${[
  ["age", 0, 120, "years"],
  ["dose", 0, 20, "mg"],
  ["days", 0, 60, "days"]
]
  .map(
    ([variable, lower, upper, unit]) => `
[[variable]]
name = "${variable}"
type = "numeric"
lower = ${lower}
upper = ${upper}
unit = "${unit}"
`
  )
  .join("")}
[design]
site = "ignore"
missing = "refuse"

[disclosure]
min_rows = ${minRows}

[engine]
name = "replicated"

[network]
timeout_seconds = 60

[[analysis]]
method = "mle"
protocol = "pooled-moments"
release = ["moments"]
function = "regression"
model = "days ~ age + dose"
`;
