// A made-up node behind the API of openapi.json, for the tests of the pages: its state is a plain object that
// tests change. Every request is held to the document, and so is every answer: `faults` has what did not fit.
import {createServer} from "node:http";
import {packages} from "./packages.mjs";
import {account, dictionaryOf, exactPlan, party, passphrase, screenOf, setupCode, time, variable} from "./samples.mjs";

const Ajv = packages("ajv/dist/2020");

class Refusal extends Error {
  constructor(status, code, message, hint = "", wait = 0) {
    super(message);
    Object.assign(this, {status, code, hint, wait});
  }
}

const refuse = (...args) => {
  throw new Refusal(...args);
};

// What the server sends with every answer (src/node/web/answers.cc), but for a report as it sends that.
const defences = {
  "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'",
  "Cache-Control": "no-store",
  "X-Content-Type-Options": "nosniff",
  "X-Frame-Options": "DENY",
  "Referrer-Policy": "no-referrer",
  "Cross-Origin-Opener-Policy": "same-origin",
  "Cross-Origin-Resource-Policy": "same-origin"
};

export function newState() {
  return {
    site: "south",
    signer: true,
    stopped: false,
    draining: false,
    restored: null,
    down: false, // the connection is cut instead of answered
    loses: "", // a path: what is asked for there is done, but the answer is lost
    studies: [],
    screens: new Map(), // changes to what the signer shows, by study
    parties: [party("north"), party("west")],
    waiting: [],
    pairings: [],
    policies: [],
    tables: [],
    budgets: [],
    audit: [], // the oldest first
    auditFault: null,
    record: [],
    accounts: ["steward", "analyst", "operator", "auditor"].map((role) => account(role, role)),
    setup: {needed: false, here: true},
    sessions: new Map(), // by cookie
    news: 1,
    wrong: 0, // passphrases in a row
    check: null, // what the next checks answer
    keys: new Map(), // Idempotency-Key
    log: [], // "POST /path", with the body
    checks: [], // files
    loads: [] // of every request in a session, whether the page says that nobody clicked
  };
}

// Compiled once, by their place in the document.
const ajv = new Ajv({strict: false});
const validators = new Map();

export function startFake(openapi, assets, changes = {}) {
  const state = {...newState(), ...changes};
  const faults = [];
  const waiters = new Set();
  if (!ajv.getSchema("api")) ajv.addSchema(openapi, "api");
  function hold(what, pointer, value) {
    if (!validators.has(pointer)) validators.set(pointer, ajv.compile({$ref: `api#${pointer}`}));
    const validate = validators.get(pointer);
    if (!validate(value)) faults.push(`${what}: ${ajv.errorsText(validate.errors)}`);
  }
  const escaped = (path) => path.replaceAll("~", "~0").replaceAll("/", "~1").replaceAll("{", "%7B").replaceAll("}", "%7D");

  const routes = Object.entries(openapi.paths).flatMap(([path, methods]) =>
    Object.entries(methods)
      .filter(([method]) => method !== "parameters")
      .map(([method, operation]) => ({
        method: method.toUpperCase(),
        path,
        operation,
        pattern: new RegExp(`^${path.replace(/\{[a-z_]+\}/g, "([^/]+)")}$`)
      }))
  );

  function news() {
    state.news += 1;
    for (const wake of waiters) wake();
    waiters.clear();
  }

  const findStudy = (id) =>
    state.studies.find((one) => one.study === id) ?? refuse(404, "not-found", "there is no such study at this node", "List the studies.");
  const findPairing = (number) =>
    state.pairings.find((one) => one.number === number) ?? refuse(404, "not-found", "there is no such invitation", "Invite again.");
  const findTable = (name) => state.tables.find((one) => one.name === name) ?? refuse(404, "not-found", "there is no such table at this node", "");
  const {pick, summary, whole} = shapes(openapi);

  function sign(given) {
    if (!state.signer) refuse(502, "unreachable", "no signer serves here", "Start it: partita node sign FOLDER");
    if (given !== passphrase) {
      state.wrong += 1;
      if (state.wrong > 3) refuse(409, "refused", "too many wrong passphrases", "Wait a moment.", 8);
      refuse(409, "refused", "the passphrase is wrong", "Type the passphrase of the steward's key.");
    }
    state.wrong = 0;
  }

  function ownPassword(body, session) {
    if (body.current !== state.accounts.find((one) => one.name === session.name).password)
      refuse(409, "refused", "the current password is wrong", "Type it again.");
  }

  const partiesNow = () => ({
    parties: state.parties,
    waiting: state.waiting,
    pairings: state.pairings.map((one) => pick(one, ["number", "name", "state"]))
  });

  function sessionFor(name, role, response) {
    const cookie = `c${state.sessions.size}-${name}`;
    const session = {
      name,
      role,
      csrf: `token of ${cookie}`,
      node: state.site,
      signer: state.signer,
      idle_seconds: 1800,
      until: time(12)
    };
    state.sessions.set(cookie, session);
    response.setHeader("Set-Cookie", `__Host-partita=${cookie}; Path=/; Secure; HttpOnly; SameSite=Strict`);
    return session;
  }

  function waitForNews(after, seconds) {
    if (String(state.news) !== after) return Promise.resolve();
    return new Promise((wake) => {
      waiters.add(wake);
      setTimeout(wake, Math.min(seconds, 25) * 1000).unref();
    });
  }

  const handlers = {
    "GET /api/v1/setup": () => ({...state.setup, node: state.site}),
    "POST /api/v1/setup": ({body, response}) => {
      if (body.code !== setupCode) refuse(409, "refused", "the set-up code is wrong or old", "partita node setup-code prints a new one");
      state.setup.needed = false;
      state.accounts.push(account(body.name, body.role, {password: body.password}));
      return sessionFor(body.name, body.role, response);
    },
    "POST /api/v1/session": ({body, response}) => {
      const found = state.accounts.find((one) => one.name === body.name && one.password === body.password);
      if (body.name === "hasty") refuse(429, "too-many", "too many wrong passwords", "Wait, then try again.", 16);
      if (!found) refuse(409, "refused", "the account or the password is wrong", "Passwords are set by a steward or operator.");
      return sessionFor(found.name, found.role, response);
    },
    "GET /api/v1/session": ({session}) => session,
    "DELETE /api/v1/session": ({session}) => {
      for (const [cookie, one] of state.sessions) if (one.name === session.name) state.sessions.delete(cookie);
    },
    "GET /api/v1/accounts": () => ({accounts: state.accounts.map((one) => pick(one, ["name", "role", "created", "last_login"]))}),
    "POST /api/v1/accounts": ({body, session}) => {
      ownPassword(body, session);
      if (body.role === "steward" && session.role !== "steward") refuse(403, "not-allowed", "accounts of stewards are made and changed by stewards", "Ask a steward of the site.");
      if (state.accounts.some((one) => one.name === body.name)) refuse(409, "refused", `the account ${body.name} is there already`, "Choose another name.");
      const made = account(body.name, body.role, {password: body.password, last_login: ""});
      state.accounts.push(made);
      return pick(made, ["name", "role", "created", "last_login"]);
    },
    "POST /api/v1/accounts/{account}/password": ({body, params: [name], session}) => {
      const found = state.accounts.find((one) => one.name === name);
      if (found.role === "steward" && session.role !== "steward") refuse(403, "not-allowed", "accounts of stewards are made and changed by stewards", "Ask a steward of the site.");
      ownPassword(body, session);
      found.password = body.password;
    },
    "DELETE /api/v1/accounts/{account}": ({params: [name]}) => {
      state.accounts = state.accounts.filter((one) => one.name !== name);
    },
    "GET /api/v1/node": () => ({
      name: state.site,
      address: `${state.site}.example.org:7400`,
      version: "0.9.0",
      fingerprint: "8".repeat(64),
      steward: "9".repeat(64),
      stopped: state.stopped,
      draining: state.draining,
      restored: state.restored,
      runs: 0,
      open_studies: state.studies.filter((one) => !one.is_over).length,
      parties: state.parties.length,
      waiting_introductions: state.waiting.length,
      open_invitations: state.pairings.filter((one) => one.state === "open").length,
      signer: state.signer
    }),
    "POST /api/v1/node/stop": () => {
      state.stopped = true;
      news();
    },
    "POST /api/v1/node/go-on": ({body}) => {
      sign(body.passphrase);
      state.stopped = false;
      news();
    },
    "GET /api/v1/audit": ({query}) => {
      const limit = Number(query.get("limit") ?? 100);
      const before = Number(query.get("before") || 0) || Infinity;
      const fits = ({number, study, kind, actor}) =>
        number < before && [study, ""].includes(query.get("study") ?? "") && [actor || kind, ""].includes(query.get("actor") ?? "");
      const found = state.audit.filter(fits).reverse();
      return {
        entries: found.slice(0, limit),
        next: found.length > limit ? found[limit - 1].number : 0,
        count: state.audit.length,
        head: "7".repeat(64),
        fault: state.auditFault
      };
    },
    // A page for each entry.
    "GET /api/v1/record": ({query}) => {
      const from = query.get("from") ?? "", until = query.get("until") || "9999";
      const fits = ({began, ended}) => began.slice(0, 10) <= until && (ended === "" || ended.slice(0, 10) >= from);
      const at = Number(query.get("after") || 0);
      return {
        site: state.site,
        entries: state.record.slice(at, at + 1).filter(fits),
        next: at + 1 < state.record.length ? String(at + 1) : ""
      };
    },
    "GET /api/v1/events": async ({query}) => {
      if (query.has("after")) await waitForNews(query.get("after"), Number(query.get("wait") ?? 25));
      return {tag: String(state.news)};
    },
    "GET /api/v1/studies": ({query}) => {
      const which = query.get("state") ?? "all";
      const limit = Number(query.get("limit") ?? 50);
      const all = state.studies.filter((one) => which === "all" || one.is_over === (which === "over"));
      const from = Number(query.get("after") || 0);
      const page = all.slice(from, from + limit);
      return {studies: page.map(summary), next: from + limit < all.length ? String(from + limit) : ""};
    },
    "POST /api/v1/studies": ({body}) => {
      const made = {...state.propose(body.file), own: true, proposer: state.site};
      state.studies.unshift(made);
      news();
      return {study: made.study};
    },
    "POST /api/v1/studies/check": ({body}) => state.check?.(body.file) ?? checkOf(body.file),
    "GET /api/v1/studies/{study}": ({params: [id]}) => whole(findStudy(id)),
    "GET /api/v1/studies/{study}/for-steward": ({params: [id]}) => {
      const found = findStudy(id);
      const changes = state.screens.get(id);
      if (changes instanceof Refusal) throw changes;
      return screenOf(found, changes);
    },
    "POST /api/v1/studies/{study}/approve": ({params: [id], body}) => {
      const found = findStudy(id);
      const screen = screenOf(found, state.screens.get(id));
      if (body.table !== (screen.table?.digest ?? "")) refuse(409, "untrusted", "the table changed since you looked at it", "Look at the study again.");
      if (body.code !== screen.code) refuse(409, "untrusted", "the code that was seen is not the code of this study", "Look at the study again.");
      if (screen.useless && !body.accept_useless) refuse(409, "refused", "the result would be of little use", "Approve all the same, or reject.");
      sign(body.passphrase);
      const who = body.deputy ?? "the steward";
      if (!screen.may_sign.includes(who)) refuse(409, "refused", `${who} has signed already: two persons have to`, "Let somebody else sign.");
      if (screen.stewards_needed === 2 && screen.signed_by.length === 0) {
        found.signed_here = [who];
        const others = screen.may_sign.filter((name) => name !== who);
        state.screens.set(id, {...state.screens.get(id), signed_by: [who], may_sign: others});
        news();
        return whole(found);
      }
      if (screen.stewards_needed === 2) found.signers = [{party: state.site, names: [...screen.signed_by, who]}];
      Object.assign(found, {signed_here: []});
      Object.assign(found, {state: "approved", needs_decision: false, approved: [...found.approved, state.site]});
      news();
      return whole(found);
    },
    "POST /api/v1/studies/{study}/reject": ({params: [id], body}) => {
      const found = findStudy(id);
      sign(body.passphrase);
      Object.assign(found, {state: "rejected", is_over: true, needs_decision: false, who: state.site, reason: body.reason});
      news();
      return whole(found);
    },
    "POST /api/v1/studies/{study}/withdraw": ({params: [id], body, session}) => {
      const found = findStudy(id);
      if (session.role === "analyst" && !found.own) refuse(403, "not-allowed", "the study was proposed elsewhere", "Ask a steward.");
      if (body.passphrase !== undefined) sign(body.passphrase);
      Object.assign(found, {state: "withdrawn", is_over: true, needs_decision: false, who: state.site, reason: body.reason});
      news();
      return whole(found);
    },
    "GET /api/v1/studies/{study}/report.html": () => "<!DOCTYPE html><title>Report</title><p>the report</p>",
    "GET /api/v1/studies/{study}/result.json": () => ({schema_version: 1}),
    "GET /api/v1/tables": () => ({tables: state.tables}),
    "GET /api/v1/tables/budgets": () => ({tables: state.budgets}),
    "POST /api/v1/tables/{table}/dictionary": ({params: [name], body}) => {
      const found = findTable(name);
      if ((found.own?.version ?? "") !== body.version)
        refuse(409, "refused", "the dictionary was saved by somebody else since you opened it", "Open it again, and make your changes there.");
      found.own = dictionaryOf(body.variables, `${state.news}`.padStart(64, "0"));
      news();
      return {dictionary: found.own};
    },
    "POST /api/v1/tables/{table}/dictionary/check": ({params: [name], body}) => checkDictionary(findTable(name).own, body.variables),
    "POST /api/v1/tables/{table}/dictionary/draft": () => ({
      variables: [["age", "integer"], ["ward", "factor"], ["income", "numeric"]].map(([name, type]) => variable(name, {type, lower: "", upper: "", hidden: true})),
      left_out: [{name: "pid", why: "another text in every row: it names the row"}]
    }),
    "GET /api/v1/policies": () => {
      if (!state.signer) refuse(409, "refused", "these pages have no signer", "Decide at the terminal (partita node approve), or start the pages with --sign.");
      return {policies: state.policies};
    },
    "POST /api/v1/policies/{policy}/end": ({params: [name], body}) => {
      sign(body.passphrase);
      state.policies = state.policies.filter((one) => one.name !== name);
      return {policies: state.policies};
    },
    "GET /api/v1/parties": partiesNow,
    "POST /api/v1/invitations": ({body}) => {
      const number = (state.pairings.length + 1).toString(16).padStart(32, "a");
      state.pairings.push({number, state: "open", listed: false, name: body.name, role: "inviter", shown: "", reach: "", party: null});
      news();
      return {line: `partita-invite-1 south.example.org:7400 ${"9".repeat(52)} ${number} 2026-12-04`, number, expires: time(7 * 24)};
    },
    "POST /api/v1/pairings": ({body}) => {
      if (!body.line.startsWith("partita-invite-1 ")) refuse(422, "bad-input", "this is no line of an invitation", "Copy the whole line from the mail.");
      const number = "b".repeat(32);
      const made = {number, state: "digits", listed: false, name: "east", role: "joiner", shown: "482913", reach: "", party: null};
      state.pairings.push(made);
      news();
      return made;
    },
    "GET /api/v1/pairings/{pairing}": ({params: [number]}) => findPairing(number),
    "POST /api/v1/pairings/{pairing}/digits": ({params: [number], body}) => {
      const found = findPairing(number);
      const digits = body.digits.replaceAll(" ", "");
      if (digits !== "271828") {
        Object.assign(found, {state: "over", shown: ""});
        refuse(409, "untrusted", "the digits differ: somebody may be in between", "The line is used up: invite again.");
      }
      Object.assign(found, {state: "sign", shown: ""});
      news();
      return found;
    },
    "POST /api/v1/pairings/{pairing}/confirm": ({params: [number], body}) => {
      const found = findPairing(number);
      if (found.state === "sign") {
        sign(body.passphrase);
        found.state = "waiting";
      } else {
        if (state.forgetful || body.passphrase !== undefined) sign(body.passphrase ?? "");
        found.listed = true;
        state.parties.push(party(found.name));
      }
      news();
      return found;
    },
    "POST /api/v1/parties/{party}/accept": ({params: [name], body}) => {
      const same = (one) => one.name === name && one.node_key === body.node_key && one.steward_key === body.steward_key;
      const introducers = state.waiting.filter(same).map((one) => one.introducer);
      if (!introducers.length) refuse(409, "untrusted", "nobody introduces this party with the keys that were shown", "Look at its keys again.");
      sign(body.passphrase);
      state.waiting = state.waiting.filter((one) => one.name !== name);
      state.parties.push(party(name, {known: "introduced", introducers}));
      news();
      return partiesNow();
    },
    "POST /api/v1/parties/{party}/revoke": ({params: [name], body}) => {
      sign(body.passphrase);
      state.parties.find((one) => one.name === name).revoked = time(0);
      news();
      return partiesNow();
    }
  };

  async function readBody(request) {
    const parts = [];
    for await (const part of request) parts.push(part);
    return Buffer.concat(parts).toString("utf8");
  }

  async function answer(request, response) {
    const url = new URL(request.url, "http://node");
    const route = routes.find((one) => one.method === request.method && one.pattern.test(url.pathname));
    if (!route) refuse(404, "not-found", "there is no such address", "");
    const params = route.pattern.exec(url.pathname).slice(1).map(decodeURIComponent);
    const roles = route.operation["x-roles"];
    const cookie = /(?:^|; )__Host-partita=([^;]+)/.exec(request.headers.cookie ?? "")?.[1];
    const session = state.sessions.get(cookie);
    if (!roles.includes("anyone")) {
      if (!session) refuse(401, "login-needed", "this needs a login", "Log in.");
      if (!roles.includes(session.role)) refuse(403, "not-allowed", `${session.role}s may not do this`, "");
    }
    const what = `${request.method} ${route.path}`;
    let body;
    const text = request.method === "GET" ? "" : await readBody(request);
    const byItself = request.headers["partita-by-itself"] === "1";
    if (session) state.loads.push({path: url.pathname, byItself});
    const schema = route.operation.requestBody?.content["application/json"].schema;
    if (schema) {
      if (request.headers["content-type"] !== "application/json") faults.push(`${what}: not sent as JSON`);
      body = JSON.parse(text);
      hold(`${what}, request`, `/paths/${escaped(route.path)}/${request.method.toLowerCase()}/requestBody/content/application~1json/schema`, body);
    } else if (text !== "") faults.push(`${what}: a body that nobody asked for`);
    if (request.method !== "GET") {
      if (!request.headers.origin) faults.push(`${what}: no Origin`);
      if (!roles.includes("anyone") && request.headers["partita-csrf"] !== session.csrf)
        refuse(403, "not-allowed", "the token of the session is missing", "Load the page again.");
      if (route.path === "/api/v1/studies/check") state.checks.push(body.file);
      else if (!route.path.endsWith("/check")) state.log.push({what: `${request.method} ${url.pathname}`, body});
    }
    const takesKey = route.operation.parameters?.some((one) => one.$ref?.endsWith("/IdempotencyKey"));
    const key = request.headers["idempotency-key"];
    if (takesKey && !/^[0-9a-f]{32}$/.test(key ?? "")) faults.push(`${what}: no Idempotency-Key`);
    if (takesKey && state.keys.has(key)) return state.keys.get(key);
    const handler = handlers[what];
    if (!handler) throw new Error(`the made-up node lacks ${what}`);
    const said = await handler({body, query: url.searchParams, params, session, response});
    if (said === undefined) return {status: 204};
    const content = route.operation.responses["200"].content;
    const type = Object.keys(content)[0];
    if (type === "application/json") {
      hold(`${what}, answer`, `/paths/${escaped(route.path)}/${request.method.toLowerCase()}/responses/200/content/application~1json/schema`, said);
    }
    const made = {status: 200, type, text: type === "application/json" ? JSON.stringify(said) : said};
    if (takesKey) state.keys.set(key, made);
    return made;
  }

  const server = createServer(async (request, response) => {
    if (state.down) {
      request.socket.destroy();
      return;
    }
    const asset = assets.assets.find((one) => one.path === request.url.split("?")[0]);
    if (asset) {
      response.setHeader("Content-Security-Policy", assets.policy);
      response.setHeader("Content-Type", asset.type);
      response.setHeader("X-Content-Type-Options", "nosniff");
      response.end(asset.bytes);
      return;
    }
    try {
      const {status, type, text} = await answer(request, response);
      if (request.method === "POST" && state.loses === new URL(request.url, "http://node").pathname) {
        request.socket.destroy();
        return;
      }
      response.statusCode = status;
      if (type) response.setHeader("Content-Type", type);
      for (const [name, value] of Object.entries(defences)) response.setHeader(name, value);
      if (type === "text/html") {
        response.setHeader("Content-Security-Policy", "sandbox allow-scripts; frame-ancestors 'none'; default-src 'none'");
        response.setHeader("Cross-Origin-Opener-Policy", "unsafe-none");
      }
      response.end(text);
    } catch (error) {
      if (!(error instanceof Refusal)) {
        faults.push(`${request.method} ${request.url}: ${error.stack}`);
      }
      const {status = 500, code = "internal", message, hint = "", wait = 0} = error;
      const said = {code, message, hint};
      hold("an error", "/components/schemas/Error", said);
      response.statusCode = status;
      response.setHeader("Content-Type", "application/json");
      if (wait) response.setHeader("Retry-After", String(wait));
      response.end(JSON.stringify(said));
    }
  });
  return new Promise((ready) => {
    server.listen(0, "127.0.0.1", () =>
      ready({
        state,
        faults,
        news,
        address: `http://localhost:${server.address().port}`,
        stop: () => {
          for (const wake of waiters) wake();
          server.closeAllConnections();
          server.close();
        }
      })
    );
  });
}

export const refusal = (...args) => new Refusal(...args);

// Objects cut to what the document says of them.
function shapes(openapi) {
  const pick = (value, names) => Object.fromEntries(names.map((name) => [name, value[name]]));
  const names = (schema) => Object.keys(openapi.components.schemas[schema].properties);
  return {
    pick,
    summary: (study) => pick(study, names("StudySummary")),
    whole: (study) => pick(study, names("Study"))
  };
}

// As the node says it, of what these tests type.
function checkDictionary(own, variables) {
  const problems = [];
  const changes = [];
  variables.forEach((one, i) => {
    const levels = ["factor", "ordered"].includes(one.type);
    const lacks = levels ? (one.levels.length < 2 ? "levels" : "") : one.lower === "" ? "lower" : one.upper === "" ? "upper" : "";
    if (lacks && !(one.hidden && one.lower === "" && one.upper === "" && !one.levels.length))
      problems.push({variable: i, message: `this variable needs the key '${lacks}'`, hint: "write what it can be"});
    const was = own?.variables.find(({name}) => name === one.name);
    if (!was) changes.push(`'${one.name}': new, ${one.hidden ? "hidden" : "visible for other sites"}`);
    else if (was.upper !== one.upper) changes.push(`'${one.name}': upper bound '${one.upper}' instead of '${was.upper}'`);
    else if (JSON.stringify(was) !== JSON.stringify(one)) changes.push(`'${one.name}': changed`);
  });
  return {version: own?.version ?? "", problems, changes};
}

export function checkOf(file) {
  const wrong = file.split("\n").findIndex((line) => line.includes("famly"));
  if (wrong < 0) {
    return {valid: true, problem: null, name: "readmission", title: "Readmission within thirty days", warnings: [], plan: exactPlan, plan_text: "plan\n"};
  }
  const problem = {code: "bad-input", message: `line ${wrong + 1}: unknown key 'famly'`, hint: "Did you mean 'family'?"};
  return {valid: false, problem, name: "", title: "", warnings: [], plan: null, plan_text: ""};
}
