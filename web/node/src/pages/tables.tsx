// The tables that studies may use: what kind they are, what their variables mean, which studies used them; for
// stewards and auditors what is left of their budgets. No cell of a table is here.
import {get, type Cause} from "../base/api";
import {useLoaded} from "../base/live";
import {may} from "../base/roles";
import {count, plain, sentence, short} from "../base/text";
import type {Budget, Node, Role, Table, TableBudget, TableBudgets, Tables, Variable} from "../base/types";
import {TablesClosed} from "../parts/closed";
import {Head, Waiting} from "../parts/page";
import {SiteVariables} from "../parts/site_variables";
import {Day, Said, StateTag, Tag} from "../parts/words";

interface Seen {
  node: Node;
  tables: Table[];
  budgets: TableBudget[] | null; // null: not for this role
}

async function load(role: Role, cause: Cause): Promise<Seen> {
  const [node, all, budgets] = await Promise.all([
    get<Node>("/node", cause),
    get<Tables>("/tables", cause),
    may(role, "read-budgets") ? get<TableBudgets>("/tables/budgets", cause) : null
  ]);
  return {node, tables: all.tables, budgets: budgets ? budgets.tables : null};
}

const StudyLink = ({study, name}: {study: string; name: string}) => (
  <a href={`#/studies/${study}`}>{plain(short(name, 60)) || study.slice(0, 12)}</a>
);

function BudgetLines({budget, table}: {budget: Budget; table: string}) {
  return (
    <div class="table" tabIndex={0} role="region" aria-label={`Budget of ${table}`}>
      <table>
        <thead>
          <tr>
            <th scope="col">Against</th>
            <th scope="col">Left</th>
            <th scope="col">Spent</th>
            <th scope="col">Reserved</th>
            <th scope="col">Of epsilon</th>
          </tr>
        </thead>
        <tbody>
          {budget.lines.map((line) => (
            <tr key={line.against}>
              <th scope="row">{line.against}</th>
              <td class="share">
                {line.left}
                <br />
                <meter value={line.share_left} min={0} max={1} aria-label={`Left of ${table} against ${line.against}`} />
              </td>
              <td class="share">{line.spent}</td>
              <td class="share">{line.reserved}</td>
              <td>
                {line.epsilon} <span class="faint">at delta {line.delta}</span>
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function History({budget, table}: {budget: Budget; table: string}) {
  if (!budget.history.length) return <p class="faint">No study has used its budget.</p>;
  const insiders = budget.lines.length > 1;
  return (
    <details>
      <summary>What its budget went to: {count(budget.history.length, "entry", "entries")}</summary>
      <div class="table" tabIndex={0} role="region" aria-label={`Budget history of ${table}`}>
        <table>
          <thead>
            <tr>
              <th scope="col">No.</th>
              <th scope="col">When</th>
              <th scope="col">Study</th>
              <th scope="col">Takes</th>
              {insiders && <th scope="col">Of insiders</th>}
              <th scope="col">Left then</th>
              <th scope="col">Outcome</th>
            </tr>
          </thead>
          <tbody>
            {budget.history.map((entry) => (
              <tr key={entry.number}>
                <td>{entry.number}</td>
                <td>
                  <Day at={entry.time} />
                </td>
                <td>
                  <Said text={short(entry.study, 60)} />
                </td>
                <td class="share">{entry.outside}</td>
                {insiders && <td class="share">{entry.insider}</td>}
                <td class="share">{entry.left}</td>
                <td class="words">
                  <Said text={short(entry.outcome, 200)} />
                  {entry.mechanisms && (
                    <p class="faint small">
                      <Said text={short(entry.mechanisms, 200)} />
                    </p>
                  )}
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </details>
  );
}

function BudgetOf({of, table}: {of: TableBudget; table: string}) {
  return (
    <>
      <h3>Privacy budget</h3>
      {of.budget ? (
        <>
          <BudgetLines budget={of.budget} table={table} />
          <p>
            {sentence(of.budget.exact)}
            {of.budget.open > 0 && ` ${count(of.budget.open, "study has", "studies have")} reserved some of it.`}
          </p>
          {of.budget.notes.map((note) => (
            <p class="faint" key={note}>
              {sentence(note)}
            </p>
          ))}
          <History budget={of.budget} table={table} />
        </>
      ) : of.problem ? (
        <p class="notice danger">{sentence(of.problem)}</p>
      ) : (
        <p>No privacy ledger is kept: studies that promise privacy are refused.</p>
      )}
    </>
  );
}

const mostLevels = 30;

function meaning(variable: Variable): string {
  const levels = variable.levels.slice(0, mostLevels).map((level) => short(plain(level), 60));
  const more = variable.levels.length - levels.length;
  const bounds = [variable.bounds, variable.unit].filter(Boolean).join(" ");
  return [bounds, levels.join(", ") + (more > 0 ? ` and ${more} more` : "")].filter(Boolean).map(plain).join("; ");
}

function Dictionary({table}: {table: Table}) {
  const {dictionary} = table;
  if (!dictionary || !dictionary.variables.length)
    return table.own ? null : (
      <p class="faint">What its variables mean shows once this site has a dictionary of it, or has approved a study.</p>
    );
  return (
    <details>
      <summary>{count(dictionary.variables.length, "variable", "variables")}</summary>
      <p class="small">
        As the study <StudyLink study={dictionary.study} name={dictionary.name} /> describes them, which this site
        approved.
      </p>
      <div class="table" tabIndex={0} role="region" aria-label={`Variables of ${plain(table.name)}`}>
        <table>
          <thead>
            <tr>
              <th scope="col">Variable</th>
              <th scope="col">Type</th>
              <th scope="col">Can be</th>
            </tr>
          </thead>
          <tbody>
            {dictionary.variables.map((variable) => (
              <tr key={variable.name}>
                <th scope="row">
                  <Said text={variable.name} />
                </th>
                <td>{variable.type}</td>
                <td class="words">
                  <Said text={meaning(variable)} or="any" />
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </details>
  );
}

function Uses({table}: {table: Table}) {
  if (!table.studies.length) return <p class="faint">No study of late uses it.</p>;
  return (
    <details>
      <summary>Used by {count(table.studies.length, "study", "studies")} of late</summary>
      <div class="table" tabIndex={0} role="region" aria-label={`Studies of ${plain(table.name)}`}>
        <table>
          <thead>
            <tr>
              <th scope="col">Study</th>
              <th scope="col">Asked by</th>
              <th scope="col">Since</th>
              <th scope="col">State</th>
              <th scope="col">This site</th>
            </tr>
          </thead>
          <tbody>
            {table.studies.map((use) => (
              <tr key={use.study}>
                <td>
                  <StudyLink study={use.study} name={use.name} />
                </td>
                <td>
                  <Said text={short(use.proposer, 60)} />
                </td>
                <td>
                  <Day at={use.began} />
                </td>
                <td>
                  <StateTag state={use.state} />
                </td>
                <td>
                  {use.approved ? "approved" : "has not approved"}
                  {use.charged && use.state !== "finished" && ", may have opened"}
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </details>
  );
}

function TableCard({table, budget, edits}: {table: Table; budget: TableBudget | null; edits: boolean}) {
  const name = plain(table.name);
  return (
    <li class="card">
      <div class="line">
        <h2>
          <Said text={table.name} />
        </h2>
        {table.present ? <Tag tone="good">there</Tag> : <Tag tone="danger">missing</Tag>}
      </div>
      {!table.present && (
        <p class="notice danger">Its file is not where node.toml says. Studies that need it are not valid here.</p>
      )}
      <dl class="facts tight">
        <dt>Kind</dt>
        <dd>{table.source}</dd>
        {budget && (
          <>
            <dt>Rows</dt>
            <dd>
              {budget.frozen ? (
                <>
                  {budget.frozen.rows}, with {count(budget.frozen.missing_cells, "missing cell", "missing cells")}, as{" "}
                  <StudyLink study={budget.frozen.study} name={budget.frozen.name} /> reads it
                </>
              ) : (
                "not known before a study has frozen it"
              )}
            </dd>
            <dt>Exact results</dt>
            <dd>
              {budget.exact_served
                ? "were given of some of its rows: other rows are refused where few differ"
                : "none was given"}
            </dd>
          </>
        )}
      </dl>
      {budget && <BudgetOf of={budget} table={name} />}
      {table.own && <SiteVariables own={table.own} table={name} />}
      <Dictionary table={table} />
      <Uses table={table} />
      {edits && (
        <p class="buttons">
          <a class="button" href={`#/tables/${table.name}`}>
            {table.own ? "Edit the dictionary" : "Write a dictionary"} <span class="unseen">of {name}</span>
          </a>
        </p>
      )}
    </li>
  );
}

export function TablesPage({role}: {role: Role}) {
  const {value, problem, reload} = useLoaded("tables", (cause) => load(role, cause));
  return (
    <>
      <Head title="Tables" />
      <p>
        The tables of this site that studies may use, as <code>node.toml</code> names them. Nothing of this page goes to
        another site{may(role, "read-budgets") ? "" : "; stewards and auditors see their budgets, too"}.
      </p>
      {value && <TablesClosed node={value.node} />}
      {value ? (
        <section aria-label="Tables">
          {value.tables.length === 0 && (
            <p>
              There is none. Whoever operates the node adds a <code>[[table]]</code> to <code>node.toml</code> and starts
              it again.
            </p>
          )}
          <ul class="cards">
            {value.tables.map((table) => (
              <TableCard
                key={table.name}
                table={table}
                edits={may(role, "describe")}
                budget={value.budgets?.find((one) => one.name === table.name) ?? null}
              />
            ))}
          </ul>
        </section>
      ) : (
        <Waiting problem={problem} retry={reload} />
      )}
    </>
  );
}
