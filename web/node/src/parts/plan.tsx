// A plan in words: the question, what each site gives, what opens to whom and how exactly, what is checked
// before, whom the guarantees trust.
import type {ComponentChildren} from "preact";
import {limitsOf, methodWords, planOf, type Plan} from "../base/plan";
import {count, listOf, plain, sentence} from "../base/text";
import {Listing, Said, Tag} from "./words";

const roleWord = (role: string): string =>
  ({holder: "brings rows", receiver: "gets the result", dealer: "helps, without data"})[role] ?? role;

// The proposer's words, which nobody checked.
function Declared({plan}: {plan: Plan}) {
  const {declared} = plan;
  const said: Array<[string, string | undefined]> = [
    ["Purpose", declared?.purpose],
    ["Ethics reference", declared?.ethics || "none is named"],
    ["Legal basis", declared?.legal_basis],
    ["Contact", declared?.contact]
  ];
  return (
    <>
      {said.map(
        ([label, text]) =>
          text && (
            <>
              <dt>{label}</dt>
              <dd class="words">
                <Said text={text} />
              </dd>
            </>
          )
      )}
    </>
  );
}

function Question({plan, asker}: {plan: Plan; asker: ComponentChildren}) {
  return (
    <section>
      <h2>What is asked</h2>
      <dl class="facts">
        {asker && (
          <>
            <dt>Who asks</dt>
            <dd>{asker}</dd>
          </>
        )}
        <Declared plan={plan} />
        <dt>Method</dt>
        <dd>
          {methodWords(plan.method)} <span class="faint">({plan.method})</span>
        </dd>
        {plan.analyses.map((analysis) => (
          <>
            <dt>{plan.analyses.length > 1 ? <Said text={analysis.name} /> : "Model"}</dt>
            <dd>
              <Said text={analysis.model} />
              <br />
              <span class="faint">
                <Said text={analysis.rows} />
              </span>
            </dd>
          </>
        ))}
      </dl>
    </section>
  );
}

function Gives({plan, own}: {plan: Plan; own: string}) {
  return (
    <section>
      <h2>What each site gives and learns</h2>
      <ul class="cards">
        {plan.parties.map((party) => (
          <li class="card" key={party.name}>
            <h3>
              <Said text={party.name} />
              {party.name === own && " (this site)"}
            </h3>
            <p class="faint small">{listOf(party.roles.map(roleWord))}</p>
            <p>
              <b>Gives: </b>
              <Said text={party.contributes} or="no data" />
            </p>
            {party.learns.length > 0 && (
              <details open={party.name === own}>
                <summary>Learns {count(party.learns.length, "thing", "things")}</summary>
                <ul class="list">
                  {party.learns.map((what) => (
                    <li key={what}>
                      <Said text={what} />
                    </li>
                  ))}
                </ul>
              </details>
            )}
          </li>
        ))}
      </ul>
    </section>
  );
}

function Mechanism({mechanism}: {mechanism: string}) {
  return mechanism === "exact" ? <Tag tone="warn">exact</Tag> : <Said text={mechanism} />;
}

type Exposure = Plan["exposures"][number];

// How much opens, beside what would tell everything.
function Amount({exposure}: {exposure: Exposure}) {
  const {opened, statistics, bits} = exposure;
  const meaning =
    bits && `${bits.opened} bits open of a table of ${bits.table} bits: ${plain(bits.meaning)}.`;
  return (
    <>
      <p class="faint small">
        At most {count(opened, "number", "numbers")}, where {statistics} determine every analysis of these rows.
        {bits?.passes && ` ${meaning}`}
      </p>
      {bits && !bits.passes && <p class="notice warn">{meaning}</p>}
    </>
  );
}

function Opens({plan}: {plan: Plan}) {
  return (
    <section>
      <h2>What opens, and to whom</h2>
      <div class="table" tabIndex={0} role="region" aria-label="What opens, and to whom">
        <table>
          <thead>
            <tr>
              <th scope="col">What</th>
              <th scope="col">To whom</th>
              <th scope="col">How</th>
            </tr>
          </thead>
          <tbody>
            {plan.releases.map((release) => (
              <tr key={release.id}>
                <td class="words">
                  <Said text={release.what} />
                  {release.max_count > 1 && (
                    <span class="faint"> (at most {release.max_count} times)</span>
                  )}
                </td>
                <td>{release.to === "all" ? "all parties" : <Said text={release.to} />}</td>
                <td>
                  <Mechanism mechanism={release.mechanism} />
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      {plan.exposures.length > 0 && (
        <>
          <h3>What the released numbers give away</h3>
          <ul class="list">
            {plan.exposures.map((exposure) => (
              <li key={`${exposure.of} ${exposure.to}`}>
                From {plain(exposure.of)}, to {exposure.to === "all" ? "all parties" : plain(exposure.to)}
                {exposure.exposes.length > 0 && `: ${exposure.exposes.map(plain).join("; ")}`}
                <Amount exposure={exposure} />
              </li>
            ))}
          </ul>
        </>
      )}
    </section>
  );
}

function Limits({plan}: {plan: Plan}) {
  const {exact, bound, unlimited} = limitsOf(plan);
  return (
    <section>
      <h2>What may be learned about one person</h2>
      {exact ? (
        <p class="notice warn">
          <strong>The results are exact.</strong>
          Nothing limits what they say about one person; only the checks below guard small groups.
        </p>
      ) : (
        <p class="notice">
          <strong>{bound ? `Noise limits it: ${bound}.` : "Noise is added, but limits it for nobody."}</strong>
          {bound && unlimited && "Not for everybody: the table says for whom there is no bound."}
        </p>
      )}
      <div class="table" tabIndex={0} role="region" aria-label="What may be learned about one person">
        <table>
          <thead>
            <tr>
              <th scope="col">Who</th>
              <th scope="col">How much about one person</th>
            </tr>
          </thead>
          <tbody>
            {plan.privacy.map((row) => (
              <tr key={`${row.adversary} ${row.adjacency}`}>
                <td>
                  <Said text={row.adversary} />
                </td>
                <td class="words">
                  <Said text={row.loss} />
                  {row.adjacency && (
                    <span class="faint"> (neighbours: {plain(row.adjacency)})</span>
                  )}
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </section>
  );
}

function Checks({plan}: {plan: Plan}) {
  return (
    <section>
      <h2>Checked before anything opens</h2>
      {plan.checks.length === 0 ? (
        <p>This study checks no counts.</p>
      ) : (
        <ul class="list">
          {plan.checks.map((check) => (
            <li key={`${check.analysis} ${check.rule}`}>
              <Said text={check.rule} />
              {check.warning && <span class="faint"> (a warning: it does not stop the study)</span>}
            </li>
          ))}
        </ul>
      )}
    </section>
  );
}

// What the plan says beside: forecasts above all, of a result that would be of little use.
function Notes({plan}: {plan: Plan}) {
  if (plan.notes.length === 0) return null;
  return (
    <section>
      <h2>Notes</h2>
      <ul class="list">
        {plan.notes.map((text) => (
          <li key={text}>{sentence(text)}</li>
        ))}
      </ul>
    </section>
  );
}

function Trusts({plan}: {plan: Plan}) {
  return (
    <section>
      <h2>Whom the guarantees trust</h2>
      <ul class="list">
        {plan.assumptions.map((text) => (
          <li key={text}>{sentence(text)}</li>
        ))}
      </ul>
    </section>
  );
}

// What the own site brings, by the plan.
export const contributionOf = (plan: Record<string, unknown> | null, own: string): string =>
  planOf(plan)?.parties.find((party) => party.name === own)?.contributes ?? "";

// `asker`: who proposed it; `table`: what is known of this site's own table.
export function PlanView(props: {
  plan: Record<string, unknown> | null;
  text: string;
  own: string;
  asker?: ComponentChildren;
  table?: ComponentChildren;
}) {
  const plan = planOf(props.plan);
  if (!plan) {
    return (
      <>
        {props.table}
        <section>
          <h2>Plan</h2>
          <Listing text={props.text} label="The plan" />
        </section>
      </>
    );
  }
  return (
    <>
      <Question plan={plan} asker={props.asker} />
      {props.table}
      <Opens plan={plan} />
      <Limits plan={plan} />
      <Checks plan={plan} />
      <Gives plan={plan} own={props.own} />
      <Trusts plan={plan} />
      <Notes plan={plan} />
    </>
  );
}
