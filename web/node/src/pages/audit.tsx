// What was done at this node, by whom: the audit log, the newest first.
import {useEffect, useState} from "preact/hooks";
import {get, type Cause} from "../base/api";
import {csvOf, saveText} from "../base/csv";
import {useAction, useLoaded} from "../base/live";
import {count, plain, sentence, short} from "../base/text";
import type {Audit, AuditEntry, RecordEntry, Studies, UseRecord} from "../base/types";
import {Field, Form, ProblemBox} from "../parts/form";
import {Head, Waiting} from "../parts/page";
import {Fingerprint, Said, When} from "../parts/words";

const kWords: Record<AuditEntry["action"], string> = {
  serve: "the node started",
  proposal: "proposed a study",
  approval: "approved",
  rejection: "rejected",
  withdrawal: "withdrew",
  "run-begin": "a run began",
  "run-end": "a run ended",
  "study-end": "the study ended",
  invitation: "invited a site",
  pairing: "compared digits",
  "party-listed": "a party was listed",
  "party-revoked": "a party was revoked",
  stop: "stopped everything",
  "go-on": "let the node go on",
  export: "took a result",
  login: "logged in",
  "login-failed": "a wrong password",
  "account-made": "made an account",
  "account-deleted": "deleted an account",
  "password-set": "set a password",
  "policy-refused": "a study fits no policy",
  "policy-ended": "ended a policy",
  "log-fault": "a log was cut or written anew",
  "restored": "was restored from a backup",
  "reopened": "let the tables be used again",
  "deleted": "deleted, as node.toml says",
  "waiting": "a study waits",
  signed: "signed, one of two",
  "deputy-named": "named a deputy",
  "deputy-ended": "ended a deputy",
  "budgets-kept": "opened the tables, budgets are kept",
  "heads-told": "asked after its restore",
  "heads-heard": "answered after the restore",
  "dictionary-saved": "saved a dictionary"
};

const kKinds: Record<AuditEntry["kind"], string> = {
  node: "the node",
  terminal: "at the machine",
  account: "account",
  party: "party",
  policy: "policy"
};

const kPage = 100;
const kMostSaved = 20_000;

interface Filter {
  study: string;
  actor: string;
}

const pathOf = ({study, actor}: Filter, before: number, limit: number): string =>
  `/audit?limit=${limit}&before=${before}` +
  (study && `&study=${encodeURIComponent(study)}`) +
  (actor && `&actor=${encodeURIComponent(actor)}`);

const csvRows = (entries: AuditEntry[]): Array<Array<string | number>> => [
  ["number", "time", "kind", "actor", "action", "study", "name", "subject", "outcome", "message"],
  ...entries.map((one) => [
    one.number, one.time, one.kind, one.actor, one.action, one.study, one.name, one.subject, one.outcome, one.message
  ])
];

// All that fit, up to a limit: a log of years is taken in parts.
async function saveAll(filter: Filter): Promise<void> {
  const entries: AuditEntry[] = [];
  let before = 0;
  do {
    const page = await get<Audit>(pathOf(filter, before, 500));
    entries.push(...page.entries);
    before = page.next;
  } while (before !== 0 && entries.length < kMostSaved);
  saveText("audit.csv", "text/csv;charset=utf-8", csvOf(csvRows(entries)));
}

const kRecordKeys = [
  "study", "name", "title", "purpose", "ethics", "legal_basis", "contact", "state", "proposer", "parties", "recipients",
  "unit", "rows", "methods", "table", "variables", "decisions", "began", "first_run", "last_run", "ended",
  "may_have_opened", "result_until", "documents_until"
] as const satisfies ReadonlyArray<keyof RecordEntry>;

type Item = string | RecordEntry["parties"][number] | RecordEntry["variables"][number] | RecordEntry["decisions"][number];

const itemText = (item: Item): string => {
  if (typeof item === "string") return item;
  if ("roles" in item) return `${item.name} (${item.roles.join(", ")})`;
  if ("decision" in item) return `${item.time} ${item.decision} of ${item.party} by ${item.by}`;
  return item.unit ? `${item.name} (${item.unit})` : item.name;
};

const recordCell = (value: RecordEntry[keyof RecordEntry]): string => {
  if (typeof value === "boolean") return value ? "yes" : "no";
  return typeof value === "string" ? value : value.map(itemText).join("; ");
};

interface Days {
  from: string;
  until: string;
}

// Every study of these days, a page of the node's list at a time: its files are read one by one.
async function saveRecord({from, until}: Days): Promise<number> {
  const entries: RecordEntry[] = [];
  let after = "";
  do {
    const page = await get<UseRecord>(
      `/record?limit=20${from && `&from=${from}`}${until && `&until=${until}`}${after && `&after=${after}`}`
    );
    entries.push(...page.entries);
    after = page.next;
  } while (after !== "");
  const rows = entries.map((entry) => kRecordKeys.map((key) => recordCell(entry[key])));
  saveText("record.csv", "text/csv;charset=utf-8", csvOf([[...kRecordKeys], ...rows]));
  return entries.length;
}

function RecordForm() {
  const [from, setFrom] = useState("");
  const [until, setUntil] = useState("");
  const [saved, setSaved] = useState<number | null>(null);
  const save = useAction(async () => {
    setSaved(null);
    setSaved(await saveRecord({from, until}));
  });
  return (
    <section class="no-print">
      <h2>Record of processing</h2>
      <p>
        What studies did with this site's rows: purpose, ethics reference, parties and who gets results, variables, who
        decided, and how long what is left of it is kept. For the record of processing activities; the words of a study
        are its proposer's.
      </p>
      <Form onSubmit={() => void save.run()} label="Record of processing" class="filter">
        <Field label="Open on this day or later" type="date" value={from} onInput={setFrom} />
        <Field label="Begun on this day or before" type="date" value={until} onInput={setUntil} />
        <div class="field">
          <button type="submit" aria-disabled={save.busy ? "true" : undefined}>
            Download the record
          </button>
        </div>
      </Form>
      <ProblemBox problem={save.problem} />
      <p class="faint small" role="status">
        {saved !== null && `${count(saved, "study is", "studies are")} in it.`}
      </p>
    </section>
  );
}

function Row({entry}: {entry: AuditEntry}) {
  return (
    <tr>
      <td>{entry.number}</td>
      <td class="when">
        <When at={entry.time} />
      </td>
      <td>
        {kKinds[entry.kind]}
        {entry.actor && (
          <>
            {" "}
            <b>
              <Said text={entry.actor} />
            </b>
          </>
        )}
      </td>
      <td class="words">
        {kWords[entry.action]}
        {entry.subject && (
          <>
            {": "}
            <Said text={entry.subject} />
          </>
        )}
        {entry.study && (
          <>
            {", study "}
            <a href={`#/studies/${entry.study}`}>{plain(short(entry.name, 60)) || entry.study.slice(0, 12)}</a>
          </>
        )}
        {entry.outcome && (
          <p class="faint small">
            <Said text={short(entry.outcome, 400)} />
          </p>
        )}
      </td>
    </tr>
  );
}

function FilterForm(props: {filter: Filter; onShow: (filter: Filter) => void}) {
  const [study, setStudy] = useState(props.filter.study);
  const [actor, setActor] = useState(props.filter.actor);
  const studies = useLoaded("audit-studies", (cause) => get<Studies>("/studies?state=all&limit=100", cause));
  const known = studies.value?.studies ?? [];
  const missing = study !== "" && !known.some((one) => one.study === study);
  return (
    <Form onSubmit={() => props.onShow({study, actor: actor.trim()})} label="Which entries" class="filter">
      <div class="field">
        <label for="audit-study">Study</label>
        <select id="audit-study" value={study} onChange={(event) => setStudy(event.currentTarget.value)}>
          <option value="">all, and what is about none</option>
          {missing && <option value={study}>{study.slice(0, 12)}</option>}
          {known.map((one) => (
            <option value={one.study} key={one.study}>
              {plain(short(one.name, 40)) || "a study"} ({one.study.slice(0, 8)})
            </option>
          ))}
        </select>
      </div>
      <Field
        label="Who: an account, a party, node, terminal"
        value={actor}
        onInput={setActor}
        maxLength={64}
        pattern="[A-Za-z0-9._ \-]*"
        spellCheck={false}
        autoComplete="off"
      />
      <div class="field">
        <button type="submit">Show</button>
      </div>
    </Form>
  );
}

export function AuditPage({study}: {study: string}) {
  const [filter, setFilter] = useState<Filter>({study, actor: ""});
  const [more, setMore] = useState<Audit | null>(null); // pages after the first
  const first = useLoaded(`audit ${filter.study} ${filter.actor}`, (cause: Cause) =>
    get<Audit>(pathOf(filter, 0, kPage), cause)
  );
  useEffect(() => setMore(null), [first.value]);
  const next = more ? more.next : (first.value?.next ?? 0);
  const load = useAction(async () => {
    const page = await get<Audit>(pathOf(filter, next, kPage));
    setMore({...page, entries: [...(more?.entries ?? []), ...page.entries], fault: page.fault ?? more?.fault ?? null});
  });
  const save = useAction(() => saveAll(filter));
  const entries = [...(first.value?.entries ?? []), ...(more?.entries ?? [])];
  const fault = more?.fault ?? first.value?.fault ?? null;
  return (
    <>
      <Head title="Audit">
        {entries.length > 0 && (
          <button type="button" onClick={() => void save.run()} aria-disabled={save.busy ? "true" : undefined}>
            Download as CSV
          </button>
        )}
      </Head>
      <p>
        What was done at this node, and by whom. Each entry has the digest of the one before, so a changed one shows. It
        does not show if somebody writes the whole log anew: keep copies elsewhere.
      </p>
      <ProblemBox problem={save.problem} />
      <FilterForm filter={filter} onShow={setFilter} />
      {fault && (
        <div class="notice danger" role="alert">
          <strong>The log is not as it was written, at entry {fault.number}.</strong>
          <p>{sentence(fault.what)} Ask who can write in the node's folder.</p>
        </div>
      )}
      {first.value ? (
        <>
          <p class="faint small" role="status">
            {entries.length === 0
              ? "No entry fits."
              : `${count(entries.length, "entry", "entries")} shown of ${first.value.count}${next ? ", there are more" : ""}`}
          </p>
          {entries.length > 0 && (
            <div class="table audit" tabIndex={0} role="region" aria-label="Entries">
              <table>
                <thead>
                  <tr>
                    <th scope="col">No.</th>
                    <th scope="col">When</th>
                    <th scope="col">Who</th>
                    <th scope="col">What</th>
                  </tr>
                </thead>
                <tbody>
                  {entries.map((entry) => (
                    <Row key={entry.number} entry={entry} />
                  ))}
                </tbody>
              </table>
            </div>
          )}
          <ProblemBox problem={load.problem} />
          {next !== 0 && (
            <p class="buttons">
              <button type="button" onClick={() => void load.run()}>
                Show more
              </button>
            </p>
          )}
          <section>
            <details class="small">
              <summary>Digest of the newest entry</summary>
              <Fingerprint value={first.value.head} />
            </details>
          </section>
          <RecordForm />
        </>
      ) : (
        <Waiting problem={first.problem} retry={first.reload} />
      )}
    </>
  );
}
