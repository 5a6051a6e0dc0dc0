// One study on one screen: for the steward what it is, what opens to whom and whom one trusts with it; for
// everybody who has approved, how the run goes, and the result.
import {useRef, useState} from "preact/hooks";
import {call, get, post, type Cause} from "../base/api";
import {useAction, useLoaded} from "../base/live";
import {may} from "../base/roles";
import {listOf, plain, sentence, short, withDays} from "../base/text";
import type {Check, Role, Session, StewardScreen, Study} from "../base/types";
import {Area, Form, PassphraseField, ProblemBox, Submit, Unfold} from "../parts/form";
import {Head, Waiting} from "../parts/page";
import {contributionOf, PlanView} from "../parts/plan";
import {PolicyDraft} from "../parts/policy_draft";
import {asDeputy, kSteward, ofWhom, SignerChoice} from "../parts/signer";
import {nameOf, stands} from "../parts/study_words";
import {Fingerprint, Listing, PlanCode, Said, StateTag, When} from "../parts/words";
import {Decide} from "./decide";

interface Seen {
  study: Study;
  screen: StewardScreen | null; // for roles that may see it, once it is settled
  refused: string; // why the signer shows no screen
  check: Check | null; // the plan for those who do not decide
}

// Whatever a plan or a steward's screen is made of.
const madeOf = ({file, roster, plan_hash, table, needs_decision, signed_here, is_over}: Study) =>
  JSON.stringify([file, roster, plan_hash, table, needs_decision, signed_here, is_over]);

// A plan is made for a person, and when what it is made of has changed; not for each step of a run. The file of
// another site is not made a plan of here: the signer does it where somebody decides.
async function load(
  id: string, role: Role, before: Seen | null, cause: Cause & {signal: AbortSignal}
): Promise<Seen> {
  const study = await get<Study>(`/studies/${id}`, cause);
  if (cause.byItself && before?.study.study === id && madeOf(before.study) === madeOf(study))
    return {...before, study};
  const seen: Seen = {study, screen: null, refused: "", check: null};
  if (may(role, "read-decisions") && study.file) {
    try {
      seen.screen = await get<StewardScreen>(`/studies/${id}/for-steward`, cause);
    } catch (error) {
      if (cause.signal.aborted) throw error;
      const {message, hint} = error as {message: string; hint?: string};
      seen.refused = [sentence(message), hint ? sentence(hint) : ""].join(" ").trim();
    }
  } else if (may(role, "check") && study.file && study.own) {
    const options = {...cause, body: {file: study.file}};
    const check = await call<Check>("POST", "/studies/check", options).catch(() => null);
    if (check?.valid) seen.check = check;
  }
  return seen;
}

function Trust({screen, decided}: {screen: StewardScreen; decided: boolean}) {
  if (!screen.trust.length || decided) return null;
  return (
    <div class="notice danger" role="region" aria-label="Warnings">
      <strong>Before you decide</strong>
      {screen.trust.map((warning) => (
        <p key={warning}>{sentence(withDays(warning))}</p>
      ))}
    </div>
  );
}

function Parties({study, screen, own}: {study: Study; screen: StewardScreen | null; own: string}) {
  const known = new Map(screen?.parties.map((one) => [one.name, one.known]));
  const roster = new Map(study.roster_parties.map((one) => [one.name, one]));
  const state = (party: string) => {
    const ended = study.ended.find((one) => one.party === party);
    if (ended) return `${ended.outcome}${ended.may_have_opened ? "" : ", nothing opened"}`;
    const progress = study.progress.find((one) => one.party === party);
    if (progress && !study.is_over) {
      const percent = Math.floor(progress.done_per_mille / 10);
      return (
        <>
          <Said text={progress.phase} />, {percent} %<br />
          <progress value={percent} max={100} aria-label={`Progress of ${plain(party)}`} />
        </>
      );
    }
    if (study.by_policy.includes(party)) return `has approved, by a policy of the steward of ${plain(party)}`;
    return study.approved.includes(party) ? "has approved" : study.is_over ? "" : "has not approved yet";
  };
  const names = study.parties.length ? study.parties : [study.proposer];
  return (
    <section>
      <h2>Parties and where they stand</h2>
      <div class="table" tabIndex={0} role="region" aria-label="Parties and where they stand">
        <table>
          <thead>
            <tr>
              <th scope="col">Party</th>
              <th scope="col">Where it stands</th>
              {screen && <th scope="col">How this site knows it</th>}
            </tr>
          </thead>
          <tbody>
            {names.map((name) => (
              <tr key={name}>
                <th scope="row">
                  <Said text={name} />
                  {name === own && <span class="faint"> (this site)</span>}
                </th>
                <td>{state(name)}</td>
                {screen && <td>{name === own ? "" : <Said text={withDays(known.get(name) ?? "not known")} />}</td>}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      {roster.size > 0 && (
        <details class="small">
          <summary>Keys of the roster</summary>
          <dl class="facts">
            {study.roster_parties.map((party) => (
              <>
                <dt>
                  <Said text={party.name} />
                </dt>
                <dd>
                  run key <Fingerprint value={party.fingerprint} />
                  <br />
                  steward <Fingerprint value={party.steward} />
                </dd>
              </>
            ))}
          </dl>
        </details>
      )}
    </section>
  );
}

function Asker({study, screen}: {study: Study; screen: StewardScreen | null}) {
  if (study.own) return <>this site</>;
  const known = screen?.parties.find((one) => one.name === study.proposer)?.known;
  return (
    <>
      <Said text={study.proposer} />
      {known && <span class="faint"> ({withDays(plain(known))})</span>}
    </>
  );
}

function OwnTable({screen, own}: {screen: StewardScreen; own: string}) {
  const {table} = screen;
  return (
    <section>
      <h2>What this site gives</h2>
      <dl class="facts">
        <dt>Variables</dt>
        <dd>
          <Said text={contributionOf(screen.plan, own)} or="none" />
        </dd>
        <dt>Table</dt>
        <dd>{table ? <Said text={table.name} /> : "none, or it is not frozen yet"}</dd>
        {table && (
          <>
            <dt>Rows</dt>
            <dd>{table.rows ?? "not told"}</dd>
            <dt>Missing cells</dt>
            <dd>{table.missing_cells ?? "not told"}</dd>
            {table.edition !== "" && (
              <>
                <dt>Edition</dt>
                <dd>
                  <Said text={table.edition} />
                </dd>
              </>
            )}
            <dt>Frozen as</dt>
            <dd>
              <Fingerprint value={table.digest} />
            </dd>
            {table.dictionary !== "" && (
              <>
                <dt>Dictionary</dt>
                <dd>
                  {table.dictionary.trim().split("\n").map((line) => (
                    <div key={line}>
                      <Said text={line.trim()} />
                    </div>
                  ))}
                </dd>
              </>
            )}
            <dt>Privacy budget</dt>
            <dd>
              {table.budget === ""
                ? "nothing is charged"
                : table.budget.trim().split("\n").map((line) => (
                    <div key={line}>
                      <Said text={line.trim()} />
                    </div>
                  ))}
            </dd>
          </>
        )}
      </dl>
    </section>
  );
}

function Result({study, role}: {study: Study; role: Role}) {
  if (study.state !== "finished") return null;
  const {has_report, report, has_json, json} = study.result;
  if (!has_report && !has_json) {
    return (
      <p class="notice">
        The result went to {listOf(study.receivers.map(plain))}; this site receives none.
      </p>
    );
  }
  return (
    <section class="notice good" aria-labelledby="result">
      <strong id="result">The result is here.</strong>
      {may(role, "read-results") ? (
        <p class="buttons">
          {has_report && (
            <a class="button main" href={report} target="_blank" rel="noopener noreferrer">
              Report (in a new tab)
            </a>
          )}
          {has_json && (
            <a class="button" href={json} download={`${study.study.slice(0, 12)}-result.json`}>
              Result for programs (JSON)
            </a>
          )}
        </p>
      ) : (
        <p>Stewards, analysts and auditors may read it.</p>
      )}
    </section>
  );
}

// Why the own run failed may tell something of the own table.
function Problem({screen}: {screen: StewardScreen | null}) {
  if (!screen) return <p class="faint">This site's steward sees here what its run said.</p>;
  if (!screen.problem) return null;
  return (
    <div class="notice danger">
      <strong>What the run said here</strong>
      <p>{sentence(screen.problem)}</p>
    </div>
  );
}

// A steward's withdrawal with the passphrase holds whatever the rest of the node does: the signer keeps it.
function Withdraw(props: {
  study: Study;
  signs: boolean;
  names: string[]; // who may sign
  onDone: (study: Study) => void;
}) {
  const [chosen, setChosen] = useState("");
  const who = props.names.includes(chosen) ? chosen : (props.names[0] ?? "");
  const [reason, setReason] = useState("");
  const [passphrase, setPassphrase] = useState("");
  const withdraw = useAction(async () => {
    try {
      const body = {
        reason: reason.trim().replace(/\s+/g, " "),
        ...(passphrase === "" ? {} : {passphrase, ...asDeputy(who)})
      };
      props.onDone(await post<Study>(`/studies/${props.study.study}/withdraw`, body));
    } finally {
      setPassphrase("");
    }
  });
  return (
    <Form onSubmit={() => void withdraw.run()} label="Withdraw">
      <Area
        label="Reason"
        hint="One line; all parties may read it. A run that goes on is ended."
        required
        maxLength={500}
        value={reason}
        onInput={setReason}
      />
      <ProblemBox problem={withdraw.problem} />
      {props.signs && <SignerChoice names={props.names} value={who} onInput={setChosen} />}
      {props.signs && <PassphraseField of={ofWhom(who)} value={passphrase} onInput={setPassphrase} />}
      <Submit busy={withdraw.busy} tone="danger">
        Withdraw
      </Submit>
    </Form>
  );
}

// How long this site keeps what it has of a study that is over.
function KeptUntil({study}: {study: Study}) {
  if (!study.kept) return null;
  const {result_kept, result_until, documents_until} = study.kept;
  return (
    <>
      {(study.result.has_json || !result_kept) && (
        <>
          <dt>{result_kept ? "Result is kept until" : "Result"}</dt>
          <dd>
            {result_kept ? (
              <When at={result_until} />
            ) : (
              <>
                was deleted here, as <code>node.toml</code> says, after <When at={result_until} />
              </>
            )}
          </dd>
        </>
      )}
      <dt>Documents are kept until</dt>
      <dd>
        <When at={documents_until} />
      </dd>
    </>
  );
}

function Texts({study, planText}: {study: Study; planText: string}) {
  return (
    <section class="no-print">
      <h2>The exact texts</h2>
      <details>
        <summary>Study file</summary>
        <Listing text={study.file} label="Study file" />
      </details>
      {study.roster && (
        <details>
          <summary>Roster</summary>
          <Listing text={study.roster} label="Roster" />
        </details>
      )}
      {planText && (
        <details>
          <summary>Plan, with its costs</summary>
          <Listing text={planText} label="Plan" />
        </details>
      )}
    </section>
  );
}

export function StudyPage({id, session}: {id: string; session: Session}) {
  const {role, node: own} = session;
  const latest = useRef<Seen | null>(null);
  const {value, problem, reload, put} = useLoaded(`study ${id}`, async (cause) => {
    const seen = await load(id, role, latest.current, cause);
    latest.current = seen;
    return seen;
  });
  // What was done here holds as long as the study stays where that brought it.
  const [told, setTold] = useState({what: "", state: ""});
  if (!value) {
    return (
      <>
        <Head title="Study" />
        <Waiting problem={problem} retry={reload} />
      </>
    );
  }
  const {study, screen, refused, check} = value;
  const done = (what: string) => (changed: Study) => {
    setTold({what, state: changed.state});
    put({...value, study: changed});
    document.querySelector<HTMLElement>("h1")?.focus();
  };
  const said = told.state === study.state ? told.what : "";
  const approver = (party: string) => {
    const signers = study.signers.find((one) => one.party === party);
    if (signers) return `${plain(party)} (${listOf(signers.names.map(plain))})`;
    return study.by_policy.includes(party) ? `${plain(party)} (by a policy of its steward)` : plain(party);
  };
  const decides = may(role, "decide") && study.needs_decision;
  const withdraws =
    !study.is_over &&
    ((role === "steward" && !study.needs_decision) || (role === "analyst" && study.own));
  const plan = screen?.plan ?? check?.plan ?? null;
  const planText = screen?.plan_text ?? check?.plan_text ?? "";
  return (
    <>
      <Head
        title={nameOf(study)}
        kicker={
          <>
            <Said text={short(study.name, 80)} or="no name" />, proposed by{" "}
            {study.own ? "this site" : short(plain(study.proposer), 80)} on{" "}
            <When at={study.began} />
          </>
        }
      >
        <StateTag state={study.state} />
      </Head>
      <p role="status" class={said ? "notice good" : "unseen"}>
        {said}
      </p>
      {screen && <Trust screen={screen} decided={study.is_over} />}
      {refused && study.state !== "proposed" && !study.is_over && (
        <div class="notice danger">
          <strong>The signer does not show this study.</strong>
          <p>{refused}</p>
        </div>
      )}
      <p class="lead">{stands(study)}</p>
      {(study.state === "failed" || (!study.is_over && screen?.problem)) && <Problem screen={screen} />}
      <Result study={study} role={role} />
      <div class="columns">
        <div>
          {plan && (
            <PlanView
              plan={plan}
              text={planText}
              own={own}
              asker={<Asker study={study} screen={screen} />}
              table={screen && <OwnTable screen={screen} own={own} />}
            />
          )}
          <Parties study={study} screen={screen} own={own} />
          {screen && may(role, "read-policies") && <PolicyDraft screen={screen} />}
          <Texts study={study} planText={planText} />
        </div>
        <div class="aside">
          {screen && screen.code !== "" && (
            <section>
              <h2>Code of the plan</h2>
              <PlanCode code={screen.code} />
              <p class="small faint">
                Compare it with the other stewards by telephone, at a number you know. The same code means
                the same study, parties and plan.
              </p>
            </section>
          )}
          <section>
            <h2>In short</h2>
            <dl class="facts tight">
              <dt>Approved by</dt>
              <dd>
                {study.approved.length ? listOf(study.approved.map(approver)) : "nobody yet"}
                {study.parties.length > 0 && ` (${study.approved.length} of ${study.parties.length})`}
              </dd>
              <dt>Result goes to</dt>
              <dd>{listOf(study.receivers.map(plain)) || "not known yet"}</dd>
              {!study.is_over && (
                <>
                  <dt>Open until</dt>
                  <dd>
                    <When at={study.expires} relative />
                  </dd>
                </>
              )}
              {study.attempt > 0 && (
                <>
                  <dt>Attempt</dt>
                  <dd>{study.attempt}</dd>
                </>
              )}
              {study.is_over && (
                <>
                  <dt>Opened</dt>
                  <dd>
                    {study.charged
                      ? "Something may have been opened; it counts as done."
                      : study.state === "finished"
                        ? "as planned"
                        : "nothing"}
                  </dd>
                </>
              )}
              <KeptUntil study={study} />
            </dl>
          </section>
          {decides && screen && (
            <Decide
              key={screen.code}
              study={study}
              screen={screen}
              signer={session.signer}
              onDone={(changed) => done(stands(changed))(changed)}
            />
          )}
          {withdraws && (
            <section class="no-print">
              <Unfold label="Withdraw …" tone="danger">
                {() => (
                  <Withdraw
                    study={study}
                    signs={role === "steward" && session.signer}
                    names={screen ? [...screen.may_sign, ...screen.signed_by] : [kSteward]}
                    onDone={done("The study is withdrawn.")}
                  />
                )}
              </Unfold>
            </section>
          )}
          <p class="buttons no-print">
            <button type="button" class="plain" onClick={() => print()}>
              Print this page
            </button>
            {may(role, "read-audit") && (
              <a class="button" href={`#/audit/${study.study}`}>
                What was done about this study
              </a>
            )}
          </p>
        </div>
      </div>
    </>
  );
}
