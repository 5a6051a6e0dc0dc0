// What the made-up node of the tests knows: studies in every state, parties, accounts. Three sites, of which
// this one is south.
import {readFileSync} from "node:fs";
import {dirname, join} from "node:path";
import {fileURLToPath} from "node:url";

export const root = join(dirname(fileURLToPath(import.meta.url)), "../..");
const read = (file) => readFileSync(join(root, file), "utf8");

export const exactPlan = JSON.parse(read("bindings/recorded/plan.json")).data;
// `partita study plan examples/private_regression/study.toml`, without trade-off functions and costs.
export const privatePlan = JSON.parse(read("tests/web/private_plan.json"));
export const studyFile = read("examples/readmission/study.toml");

export const passphrase = "a passphrase of four words";
export const password = "twelve letters and more";
export const setupCode = "7K4M-PQ2D-XW9A";
export const digest = (letter) => letter.repeat(64);
export const code = "4kz7mqf2w9tpx3bnd8hcr5jva";

// Whatever a peer may write to be taken for a part of the page.
export const hostile = {
  markup: `<img src=x onerror="window.harmed=1"><script>window.harmed=2</script><b>bold</b>`,
  turned: "approved \u202Eyb detcejer\u202C \u200Bby\u0007 all",
  long: "Wirtschaftlichkeitsuntersuchung".repeat(40),
  link: `javascript:window.harmed=3`
};

const at = (hours) => new Date(Date.UTC(2026, 10, 27, 10) + hours * 3_600_000).toISOString().replace(".000", "");

let made = 0;
export function study(state, changes = {}) {
  made += 1;
  const id = made.toString(16).padStart(4, "0").repeat(16);
  const over = ["finished", "failed", "rejected", "withdrawn", "expired"].includes(state);
  const settled = !["proposed", "validated"].includes(state);
  return {
    study: id,
    name: "readmission",
    title: "Readmission within thirty days",
    proposer: "north",
    own: false,
    state,
    is_over: over,
    parties: state === "proposed" ? [] : ["north", "south", "west"],
    receivers: state === "proposed" ? [] : ["north"],
    unchecked: state === "validated" ? ["west"] : [],
    approved: [],
    by_policy: [],
    signers: [],
    signed_here: [],
    needs_decision: state === "settled",
    attempt: 0,
    charged: false,
    progress: [],
    ended: [],
    who: "",
    reason: "",
    began: at(-30),
    expires: at(14 * 24),
    waits_since: state === "settled" ? at(-20) : "",
    tag: "1",
    file: studyFile,
    roster: settled ? '[[party]]\nname = "north"\n' : "",
    plan_hash: exactPlan.plan_hash,
    table: settled ? "stays" : "",
    roster_parties: settled
      ? ["north", "south", "west"].map((name, i) => ({
          name,
          fingerprint: digest("123"[i]),
          steward: digest("abc"[i])
        }))
      : [],
    result: {has_report: false, has_json: false, report: "", json: ""},
    kept: over ? {ended: at(-1), result_until: at(24 * 365), documents_until: at(24 * 3652), result_kept: true} : null,
    plan: exactPlan,
    ...changes
  };
}

const sampleBudget =
  "Study 'school-hours' fits the policy of table stays.\n" +
  "  Of the budget against outsiders it takes 12.5 %.\n  Studies of this price that fit: 8.\n";

export const screenOf = (study, changes = {}) => ({
  study: study.study,
  name: study.name,
  title: study.title,
  site: "south",
  proposer: study.proposer,
  expires: study.expires,
  settled: study.roster !== "",
  can_approve: study.needs_decision,
  why_not: study.needs_decision ? "" : "the study does not wait for this site",
  code: study.roster === "" ? "" : code,
  trust: [],
  parties: [
    {name: "north", known: "digits compared on 2026-10-02T09:00:00Z"},
    {name: "west", known: "digits compared on 2026-10-05T09:00:00Z"}
  ],
  table:
    study.table === ""
      ? null
      : {name: study.table, digest: digest("d"), rows: 1840, missing_cells: 12, edition: "edition of 2026-10-01, 1,840 rows", budget: sampleBudget, dictionary: ""},
  valid_until: study.roster === "" ? "" : study.expires,
  min_cell: 5,
  stewards_needed: 1,
  signed_by: [],
  may_sign: ["the steward"],
  useless: "",
  plan: study.plan,
  plan_text: `plan of ${study.name}\n  rounds  437\n  bytes   3581643\n`,
  policy_draft: "",
  no_policy: [],
  problem: "",
  ...changes
});

const policyText = read("docs/approvals.md").match(/ {4}partita_envelope = 2\n[^]*?a1b2[^\n]*\n/)[0].replace(/^ {4}/gm, "");

// Three studies of five, of which the node has the last one.
export const policy = (name, changes = {}) => ({
  name,
  tables: ["stays"],
  from: at(-24 * 30),
  until: at(24 * 60),
  results: 3,
  max_results: 5,
  epsilon: 8.859331,
  epsilon_in_all: 12,
  exact: 0,
  uses: [1, 2, 3].map((number) => ({
    number,
    study: digest("12f"[number - 1]),
    name: number === 1 ? "" : "readmission",
    epsilon: 2.953110333,
    approved: at(-24 * (28 - 7 * number))
  })),
  text: policyText.replace("pressure-weekly", name),
  ...changes
});

export const variable = (name, changes = {}) => ({
  name,
  type: "numeric",
  description: "",
  unit: "",
  lower: "0",
  upper: "400",
  levels: [],
  missing_codes: [],
  reference: "",
  contrasts: "",
  time: "",
  event: "",
  hidden: false,
  ...changes
});

// As the node answers with it; a version is what is kept, in so many digits.
export const dictionaryOf = (variables, version = digest("1")) => ({
  version,
  variables,
  offered: variables
    .filter((one) => !one.hidden)
    .map((one) => ({name: one.name, text: `[[variable]]\nname = "${one.name}"\ntype = "${one.type}"\n`})),
  problem: ""
});

export const wardVariables = () => [
  variable("age", {type: "integer", lower: "18", upper: "110", unit: "years", description: "at admission"}),
  variable("ward", {type: "factor", lower: "", upper: "", levels: ["medical", "surgical", "other"], missing_codes: ["?"]}),
  variable("income", {lower: "", upper: "", hidden: true})
];

export const table = (name, changes = {}) => ({
  name,
  source: "CSV file",
  present: true,
  own: null,
  dictionary: {
    study: digest("f"),
    name: "readmission",
    variables: [
      {name: "age", type: "integer", unit: "years", bounds: "[18, 110]", levels: []},
      {name: "ward", type: "factor", unit: "", bounds: "", levels: ["medical", "surgical", "other"]},
      {name: "days", type: "numeric", unit: "days", bounds: "[0, 400]", levels: []}
    ]
  },
  studies: [
    {study: digest("f"), name: "readmission", proposer: "north", state: "finished", charged: true, began: at(-90), approved: true},
    {study: digest("e"), name: "", proposer: "west", state: "rejected", charged: false, began: at(-900), approved: false}
  ],
  ...changes
});

const budgetLine = (against, spent, left, share) => ({
  against, neighbours: "replace", epsilon: "3", delta: "1e-6", spent, reserved: "0 %", left, share_left: share
});

export const tableBudget = (name, changes = {}) => ({
  name,
  exact_served: true,
  frozen: {study: digest("f"), name: "readmission", rows: 1840, missing_cells: 12},
  problem: "",
  budget: {
    lines: [budgetLine("outsiders", "12.5 %", "87.5 %", 0.875), budgetLine("each insider", "33.4 %", "66.6 %", 0.666)],
    exact: "Results without noise are allowed; 1 so far.",
    notes: ["This release alone; 1 exact result was released before from table stays."],
    open: 0,
    history: [
      {number: 2, time: at(-900), study: "school-hours", outside: "12.5 %", insider: "33.4 %", left: "66.6 %", outcome: "spent", mechanisms: "discrete Gaussian, scale 31"},
      {number: 4, time: at(-90), study: "stopped-early", outside: "12.5 %", insider: "33.4 %", left: "33.2 %", outcome: "refunded: nothing opened", mechanisms: "discrete Gaussian, scale 31"}
    ]
  },
  ...changes
});

export const policyDraft = policyText;

export const party = (name, changes = {}) => ({
  name,
  address: `${name}.example.org:7400`,
  known: "digits",
  introducers: [],
  since: at(-24 * 50),
  node_key: digest("4"),
  steward_key: digest("5"),
  revoked: "",
  ...changes
});

export const introduction = (name, introducer, changes = {}) => ({
  name,
  address: `${name}.example.org:7400`,
  introducer,
  node_key: digest("6"),
  steward_key: digest("7"),
  compared: at(-20),
  ...changes
});

export const account = (name, role, changes = {}) => ({
  name,
  role,
  created: at(-24 * 60),
  last_login: at(-20),
  password,
  ...changes
});

// Entry `number` of the audit log.
export const auditEntry = (number, action, changes = {}) => ({
  number,
  time: at(-200 + number / 60),
  kind: "account",
  actor: "anna",
  action,
  study: "",
  name: "",
  subject: "",
  outcome: "",
  message: "",
  ...changes
});

// Of the record of processing.
export const recordEntry = (study, changes = {}) => ({
  study: study.study,
  name: study.name,
  title: study.title,
  purpose: "Whether a call after discharge keeps people from coming back",
  ethics: "EK 2026/117",
  legal_basis: "Article 9(2)(j) GDPR",
  contact: "=cmd|' /C calc'!A0",
  state: study.state,
  proposer: study.proposer,
  parties: study.parties.map((name) => ({name, roles: name === "north" ? ["holder", "receiver"] : ["holder"]})),
  recipients: study.receivers,
  unit: "person",
  rows: "",
  methods: ["glm"],
  table: study.table,
  variables: [{name: "age", type: "integer", unit: "years"}, {name: "ward", type: "factor", unit: ""}],
  decisions: [{time: at(-20), party: "south", decision: "approval", by: "account anna"}],
  began: study.began,
  first_run: at(-3),
  last_run: at(-2),
  ended: study.kept?.ended ?? "",
  may_have_opened: true,
  result_until: study.kept?.result_until ?? "",
  documents_until: study.kept?.documents_until ?? "",
  ...changes
});

export const time = at;
