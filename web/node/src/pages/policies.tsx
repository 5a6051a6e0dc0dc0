// What the steward approved in advance, and what was signed by it. A policy is ended here, which only takes away; it
// is added at the terminal.
import {useState} from "preact/hooks";
import {get} from "../base/api";
import {useLoaded} from "../base/live";
import {may} from "../base/roles";
import {count, listOf, plain, short} from "../base/text";
import type {Policies, Policy, Role} from "../base/types";
import {Command} from "../parts/command";
import {Unfold} from "../parts/form";
import {Head, Waiting} from "../parts/page";
import {addCommand} from "../parts/policy_draft";
import {Sign} from "../parts/sign";
import {Day, Listing, Said, Tag, When} from "../parts/words";

const amount = (epsilon: number): string => String(Number(epsilon.toPrecision(3)));

// Whether it would sign another study, as far as its numbers and its time say.
function standing(policy: Policy, now: number): {word: string; tone: "good" | "warn" | "plain"} {
  if (Date.parse(policy.until) <= now) return {word: "over", tone: "plain"};
  if (Date.parse(policy.from) > now) return {word: "not yet", tone: "warn"};
  const spent = policy.epsilon_in_all > 0 && policy.epsilon >= policy.epsilon_in_all;
  return policy.results >= policy.max_results || spent ? {word: "used up", tone: "plain"} : {word: "holds", tone: "good"};
}

function Uses({policy}: {policy: Policy}) {
  if (!policy.uses.length) return <p class="faint">Nothing was signed by it yet.</p>;
  const noisy = policy.uses.some(({epsilon}) => epsilon > 0);
  return (
    <div class="table" tabIndex={0} role="region" aria-label={`Signed by ${plain(policy.name)}`}>
      <table>
        <thead>
          <tr>
            <th scope="col">No.</th>
            <th scope="col">Study</th>
            <th scope="col">Approved</th>
            {noisy && <th scope="col">Epsilon</th>}
          </tr>
        </thead>
        <tbody>
          {policy.uses.map((use) => (
            <tr key={use.number}>
              <td>{use.number}</td>
              <td>
                <a href={`#/studies/${use.study}`}>{plain(short(use.name, 60)) || use.study.slice(0, 12)}</a>
              </td>
              <td>
                <Day at={use.approved} />
              </td>
              {noisy && <td>{amount(use.epsilon)}</td>}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function PolicyCard(props: {policy: Policy; ends: boolean; onEnded: (left: Policies) => void}) {
  const {policy} = props;
  const name = plain(policy.name);
  const {word, tone} = standing(policy, Date.now());
  const noisy = policy.epsilon_in_all > 0 || policy.epsilon > 0;
  return (
    <li class="card">
      <div class="line">
        <h2>
          <Said text={policy.name} />
        </h2>
        <Tag tone={tone}>{word}</Tag>
      </div>
      <dl class="facts tight">
        <dt>{policy.tables.length === 1 ? "Table" : "Tables"}</dt>
        <dd>{listOf(policy.tables.map(plain))}</dd>
        <dt>Signed</dt>
        <dd>
          {policy.results} of {count(policy.max_results, "study", "studies")}
          <br />
          <progress value={policy.results} max={policy.max_results} aria-label={`Used of ${name}`} />
        </dd>
        {noisy && (
          <>
            <dt>Epsilon</dt>
            <dd>
              {amount(policy.epsilon)}
              {policy.epsilon_in_all > 0 ? ` of ${amount(policy.epsilon_in_all)}` : ", without a limit in all"}
            </dd>
          </>
        )}
        <dt>Without noise</dt>
        <dd>{policy.exact ? `${count(policy.exact, "study file", "study files")}, named byte for byte` : "nothing"}</dd>
        <dt>Since</dt>
        <dd>
          <When at={policy.from} />
        </dd>
        <dt>Until</dt>
        <dd>
          <When at={policy.until} relative />
        </dd>
      </dl>
      <Uses policy={policy} />
      <details>
        <summary>Its exact text</summary>
        <Listing text={policy.text} label={`Text of ${name}`} />
      </details>
      {props.ends && (
        <Unfold label={`End ${name} …`} tone="plain">
          {() => (
            <>
              <p>It signs nothing from now on, and no run begins by what it signed. Another one is added at the terminal.</p>
              <Sign<Policies>
                path={`/policies/${encodeURIComponent(policy.name)}/end`}
                label={`End ${name}`}
                tone="danger"
                onDone={props.onEnded}
              />
            </>
          )}
        </Unfold>
      )}
    </li>
  );
}

function Add() {
  return (
    <section class="no-print">
      <h2>Another policy</h2>
      <p>
        A policy is signed at the terminal, where the steward reads its text: whoever takes over these pages can end one,
        and add none. A study's own page has a draft.
      </p>
      <Command text={addCommand("FILE")} label="Command that adds a policy" />
    </section>
  );
}

export function PoliciesPage({role}: {role: Role}) {
  const {value, problem, reload, put} = useLoaded("policies", (cause) => get<Policies>("/policies", cause));
  const [said, setSaid] = useState("");
  const ended = (name: string) => (left: Policies) => {
    put(left);
    setSaid(`The policy ${name} is ended.`);
    document.querySelector<HTMLElement>("h1")?.focus();
  };
  return (
    <>
      <Head title="Policies" />
      <p>
        What this site's steward approved in advance. A study that fits one is signed without anybody being asked; the
        jobs that read the table compare it once more.
      </p>
      <p role="status" class={said ? "notice good" : "unseen"}>
        {said}
      </p>
      {value ? (
        <>
          <section aria-label="Policies">
            {value.policies.length === 0 && <p>There is no policy: every study waits for the steward.</p>}
            <ul class="cards">
              {value.policies.map((policy) => (
                <PolicyCard
                  key={policy.name}
                  policy={policy}
                  ends={may(role, "decide")}
                  onEnded={ended(plain(policy.name))}
                />
              ))}
            </ul>
          </section>
          {may(role, "decide") && <Add />}
        </>
      ) : (
        <Waiting problem={problem} retry={reload} />
      )}
    </>
  );
}
