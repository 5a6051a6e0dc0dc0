// Made by web/node/types.mjs from the API's openapi.json.

export interface Error {
  code: "usage" | "bad-input" | "bad-data" | "unreachable" | "untrusted" | "peer-fault" | "timeout" | "refused" | "budget" | "not-converged" | "peer-lost" | "cancelled" | "storage" | "internal" | "login-needed" | "not-allowed" | "not-found" | "wrong-method" | "not-json" | "too-large" | "too-many";
  message: string;
  hint: string;
}

export type Role = "steward" | "analyst" | "operator" | "auditor";

export type AccountName = string;

export type Password = string;

export type Passphrase = string;

export interface Session {
  name: string;
  role: Role;
  csrf: string;
  node: string;
  signer: boolean;
  idle_seconds: number;
  until: string;
}

export interface SetUp {
  needed: boolean;
  here: boolean;
  node: string;
}

export interface Account {
  name: string;
  role: Role;
  created: string;
  last_login: string;
}

export interface Accounts {
  accounts: Account[];
}

export interface Node {
  name: string;
  address: string;
  version: string;
  fingerprint: string;
  steward: string;
  stopped: boolean;
  draining: boolean;
  restored: {
    time: string;
    closed: boolean;
    asked: number;
    answered: number;
  } | null;
  open_studies: number;
  runs: number;
  parties: number;
  waiting_introductions: number;
  open_invitations: number;
  signer: boolean;
}

export type State = "proposed" | "validated" | "settled" | "approved" | "agreed" | "scheduled" | "running" | "closing" | "finished" | "failed" | "rejected" | "withdrawn" | "expired";

export interface StudySummary {
  study: string;
  name: string;
  title: string;
  proposer: string;
  own: boolean;
  state: State;
  is_over: boolean;
  parties: string[];
  receivers: string[];
  unchecked: string[];
  approved: string[];
  by_policy: string[];
  signers: Array<{
    party: string;
    names: string[];
  }>;
  signed_here: string[];
  needs_decision: boolean;
  attempt: number;
  charged: boolean;
  progress: Array<{
    party: string;
    phase: string;
    done_per_mille: number;
  }>;
  ended: Array<{
    party: string;
    outcome: "finished" | "failed" | "refused" | "cancelled" | "lost";
    may_have_opened: boolean;
  }>;
  who: string;
  reason: string;
  began: string;
  expires: string;
  waits_since: string;
}

export interface Studies {
  studies: StudySummary[];
  next: string;
}

export interface Study {
  study: string;
  name: string;
  title: string;
  proposer: string;
  own: boolean;
  state: State;
  is_over: boolean;
  parties: string[];
  receivers: string[];
  unchecked: string[];
  approved: string[];
  by_policy: string[];
  signers: Array<{
    party: string;
    names: string[];
  }>;
  signed_here: string[];
  needs_decision: boolean;
  attempt: number;
  charged: boolean;
  progress: Array<{
    party: string;
    phase: string;
    done_per_mille: number;
  }>;
  ended: Array<{
    party: string;
    outcome: "finished" | "failed" | "refused" | "cancelled" | "lost";
    may_have_opened: boolean;
  }>;
  who: string;
  reason: string;
  began: string;
  expires: string;
  waits_since: string;
  tag: string;
  file: string;
  roster: string;
  plan_hash: string;
  table: string;
  roster_parties: Array<{
    name: string;
    fingerprint: string;
    steward: string;
  }>;
  result: {
    has_report: boolean;
    has_json: boolean;
    report: string;
    json: string;
  };
  kept: {
    ended: string;
    result_until: string;
    documents_until: string;
    result_kept: boolean;
  } | null;
}

export interface Check {
  valid: boolean;
  problem: Error | null;
  name: string;
  title: string;
  warnings: string[];
  plan: Record<string, unknown> | null;
  plan_text: string;
}

export interface StewardScreen {
  study: string;
  name: string;
  title: string;
  site: string;
  proposer: string;
  expires: string;
  settled: boolean;
  can_approve: boolean;
  why_not: string;
  code: string;
  trust: string[];
  parties: Array<{
    name: string;
    known: string;
  }>;
  table: {
    name: string;
    digest: string;
    rows: number | null;
    missing_cells: number | null;
    edition: string;
    dictionary: string;
    budget: string;
  } | null;
  valid_until: string;
  min_cell: number | null;
  stewards_needed: number;
  signed_by: string[];
  may_sign: string[];
  useless: string;
  plan: Record<string, unknown>;
  plan_text: string;
  policy_draft: string;
  no_policy: string[];
  problem: string;
}

export interface Policy {
  name: string;
  tables: string[];
  from: string;
  until: string;
  results: number;
  max_results: number;
  epsilon: number;
  epsilon_in_all: number;
  exact: number;
  uses: Array<{
    number: number;
    study: string;
    name: string;
    epsilon: number;
    approved: string;
  }>;
  text: string;
}

export interface Policies {
  policies: Policy[];
}

export interface Variable {
  name: string;
  type: string;
  unit: string;
  bounds: string;
  levels: string[];
}

export interface SiteVariable {
  name: string;
  type: string;
  description: string;
  unit: string;
  lower: string;
  upper: string;
  levels: string[];
  missing_codes: string[];
  reference: string;
  contrasts: string;
  time: string;
  event: string;
  hidden: boolean;
}

export interface SiteDictionary {
  version: string;
  variables: SiteVariable[];
  offered: Array<{
    name: string;
    text: string;
  }>;
  problem: string;
}

export interface SavedDictionary {
  dictionary: SiteDictionary;
}

export interface DictionaryCheck {
  version: string;
  problems: Array<{
    variable: number;
    message: string;
    hint: string;
  }>;
  changes: string[];
}

export interface DictionaryDraft {
  variables: SiteVariable[];
  left_out: Array<{
    name: string;
    why: string;
  }>;
}

export interface Table {
  name: string;
  source: string;
  present: boolean;
  own: SiteDictionary | null;
  dictionary: {
    study: string;
    name: string;
    variables: Variable[];
  } | null;
  studies: Array<{
    study: string;
    name: string;
    proposer: string;
    state: State;
    charged: boolean;
    began: string;
    approved: boolean;
  }>;
}

export interface Tables {
  tables: Table[];
}

export interface Budget {
  lines: Array<{
    against: string;
    neighbours: string;
    epsilon: string;
    delta: string;
    spent: string;
    reserved: string;
    left: string;
    share_left: number;
  }>;
  exact: string;
  notes: string[];
  open: number;
  history: Array<{
    number: number;
    time: string;
    study: string;
    outside: string;
    insider: string;
    left: string;
    outcome: string;
    mechanisms: string;
  }>;
}

export interface TableBudget {
  name: string;
  exact_served: boolean;
  frozen: {
    study: string;
    name: string;
    rows: number;
    missing_cells: number;
  } | null;
  problem: string;
  budget: Budget | null;
}

export interface TableBudgets {
  tables: TableBudget[];
}

export interface Party {
  name: string;
  address: string;
  known: "digits" | "introduced";
  introducers: string[];
  since: string;
  node_key: string;
  steward_key: string;
  revoked: string;
}

export interface Introduction {
  name: string;
  address: string;
  introducer: string;
  node_key: string;
  steward_key: string;
  compared: string;
}

export type PairingState = "open" | "digits" | "sign" | "waiting" | "met" | "over";

export interface Parties {
  parties: Party[];
  waiting: Introduction[];
  pairings: Array<{
    number: string;
    name: string;
    state: PairingState;
  }>;
}

export interface Invitation {
  line: string;
  number: string;
  expires: string;
}

export interface Pairing {
  number: string;
  state: PairingState;
  listed: boolean;
  name: string;
  role: "inviter" | "joiner";
  shown: string;
  reach: string;
  party: {
    name: string;
    address: string;
    node_key: string;
    steward_key: string;
  } | null;
}

export interface AuditEntry {
  number: number;
  time: string;
  kind: "node" | "terminal" | "account" | "party" | "policy";
  actor: string;
  action: "serve" | "proposal" | "approval" | "rejection" | "withdrawal" | "run-begin" | "run-end" | "study-end" | "invitation" | "pairing" | "party-listed" | "party-revoked" | "stop" | "go-on" | "export" | "login" | "login-failed" | "account-made" | "account-deleted" | "password-set" | "policy-refused" | "policy-ended" | "log-fault" | "restored" | "reopened" | "deleted" | "waiting" | "signed" | "deputy-named" | "deputy-ended" | "budgets-kept" | "heads-told" | "heads-heard" | "dictionary-saved";
  study: string;
  name: string;
  subject: string;
  outcome: string;
  message: string;
}

export interface Audit {
  entries: AuditEntry[];
  next: number;
  count: number;
  head: string;
  fault: {
    number: number;
    what: string;
  } | null;
}

export interface RecordEntry {
  study: string;
  name: string;
  title: string;
  purpose: string;
  ethics: string;
  legal_basis: string;
  contact: string;
  state: State;
  proposer: string;
  parties: Array<{
    name: string;
    roles: Array<"holder" | "receiver" | "dealer">;
  }>;
  recipients: string[];
  unit: string;
  rows: string;
  methods: string[];
  table: string;
  variables: Array<{
    name: string;
    type: string;
    unit: string;
  }>;
  decisions: Array<{
    time: string;
    party: string;
    decision: "approval" | "rejection" | "withdrawal";
    by: string;
  }>;
  began: string;
  first_run: string;
  last_run: string;
  ended: string;
  may_have_opened: boolean;
  result_until: string;
  documents_until: string;
}

export interface UseRecord {
  site: string;
  entries: RecordEntry[];
  next: string;
}

export interface Tag {
  tag: string;
}
