// The editor of a table's dictionary: rows that are checked while they are typed by the code that reads study files,
// and what saving changes. Nothing is saved before the button; a version that somebody else saved is not overwritten.
import {useContext, useEffect, useRef, useState} from "preact/hooks";
import {call, get, post, Problem} from "../base/api";
import {blank, moved, rowOf, sent, type Row} from "../base/dictionary";
import {LogIn, useAction, useLoaded} from "../base/live";
import {count, plain, sentence, short} from "../base/text";
import type {DictionaryCheck, DictionaryDraft, SavedDictionary, SiteVariable, Table, Tables} from "../base/types";
import {Form, ProblemBox, Submit, Unfold} from "../parts/form";
import {Head, Waiting} from "../parts/page";
import {canBe} from "../parts/site_variables";
import {VariableFields} from "../parts/variable_fields";
import {Said, Tag} from "../parts/words";

const kTypingPause = 600; // ms

interface Checked {
  of: string; // what was checked
  check: DictionaryCheck | null;
  problem: Problem | null;
}

function useCheck(table: string, body: string): [Checked, () => void] {
  const [checked, setChecked] = useState<Checked>({of: "", check: null, problem: null});
  const [again, setAgain] = useState(0);
  const login = useContext(LogIn);
  useEffect(() => {
    const stop = new AbortController();
    const timer = setTimeout(() => {
      call<DictionaryCheck>("POST", `/tables/${table}/dictionary/check`, {
        body: {variables: JSON.parse(body) as SiteVariable[]},
        signal: stop.signal
      }).then(
        (check) => setChecked({of: body, check, problem: null}),
        (error: unknown) => {
          if (!stop.signal.aborted && error instanceof Problem) setChecked({of: body, check: null, problem: error});
        }
      );
    }, kTypingPause);
    return () => {
      clearTimeout(timer);
      stop.abort();
    };
  }, [table, body, again, login]);
  return [checked, () => setAgain((n) => n + 1)];
}

interface RowProps {
  row: Row;
  at: number;
  of: number;
  open: boolean;
  wrong: {message: string; hint: string} | null;
  onOpen: (open: boolean) => void;
  onInput: (change: Partial<SiteVariable>) => void;
  onMove: (by: -1 | 1) => void;
  onRemove: () => void;
}

function VariableRow({row, at, of, open, wrong, onOpen, onInput, onMove, onRemove}: RowProps) {
  const {variable} = row;
  const name = plain(short(variable.name, 64)).trim() || "the new variable";
  const id = `variable-${row.id}`;
  const move = (by: -1 | 1, word: string) => (
    <button
      type="button"
      class="plain"
      id={`${id}-${word}`}
      aria-label={`Move ${name} ${word}`}
      aria-disabled={(by < 0 ? at === 0 : at === of - 1) ? "true" : undefined}
      onClick={() => onMove(by)}
    >
      {by < 0 ? "↑" : "↓"}
    </button>
  );
  return (
    <li class="card variable">
      <div class="line">
        <h3>
          <Said text={short(variable.name, 64)} or="new variable" /> <span class="faint">{variable.type}</span>
        </h3>
        <span class="tags">
          {wrong && <Tag tone="danger">not complete</Tag>}
          {variable.hidden ? <Tag tone="warn">hidden</Tag> : <Tag tone="good">others may ask</Tag>}
        </span>
      </div>
      {!open && (
        <p class="small faint">
          <Said text={short(canBe(sent(row)), 200)} or="what it can be is not said" />
        </p>
      )}
      {wrong && (
        <p class="wrong" id={`${id}-wrong`}>
          {sentence(wrong.message)} {wrong.hint && sentence(wrong.hint)}
        </p>
      )}
      {open && (
        <div
          id={`${id}-fields`}
          role="group"
          aria-label={`Fields of ${name}`}
          aria-describedby={wrong ? `${id}-wrong` : undefined}
        >
          <VariableFields variable={variable} onInput={onInput} />
        </div>
      )}
      <div class="row-buttons">
        <button
          type="button"
          class="plain"
          id={`${id}-edit`}
          aria-expanded={open}
          aria-controls={open ? `${id}-fields` : undefined}
          onClick={() => onOpen(!open)}
        >
          {open ? "Close" : "Edit"} <span class="unseen">{name}</span>
        </button>
        {move(-1, "up")}
        {move(1, "down")}
        <button type="button" class="plain" aria-label={`Remove ${name}`} onClick={onRemove}>
          Remove
        </button>
      </div>
    </li>
  );
}

function Changes({checked, busy, again}: {checked: Checked; busy: boolean; again: () => void}) {
  if (checked.problem)
    return (
      <>
        <ProblemBox problem={checked.problem} />
        <button type="button" onClick={again}>
          Check again
        </button>
      </>
    );
  if (!checked.check || busy) return <p class="faint">Checking …</p>;
  const {problems, changes} = checked.check;
  return (
    <>
      {problems.length > 0 && (
        <p class="notice warn">
          {count(problems.length, "variable is", "variables are")} not complete: mend, hide or remove{" "}
          {problems.length === 1 ? "it" : "them"} to save.
        </p>
      )}
      {changes.length === 0 ? (
        <p class="faint">Nothing differs from what is saved.</p>
      ) : (
        <>
          <p>Saving changes:</p>
          <ul class="list">
            {changes.map((change) => (
              <li key={change}>
                <Said text={sentence(short(change, 500))} />
              </li>
            ))}
          </ul>
        </>
      )}
    </>
  );
}

function Editor({table, reload}: {table: Table; reload: () => void}) {
  const [rows, setRows] = useState<Row[]>(() => (table.own?.variables ?? []).map(rowOf));
  const [version, setVersion] = useState(table.own?.version ?? "");
  const [open, setOpen] = useState(0);
  const [news, setNews] = useState("");
  const [leftOut, setLeftOut] = useState<DictionaryDraft["left_out"]>([]);
  const focus = useRef("");
  const body = JSON.stringify(rows.map(sent));
  const [checked, again] = useCheck(table.name, body);
  const current = checked.of === body;
  const ready = current && checked.check !== null && checked.check.problems.length === 0 && checked.check.changes.length > 0;
  useEffect(() => {
    if (!focus.current) return;
    document.getElementById(focus.current)?.focus();
    focus.current = "";
  });

  const change = (id: number, what: Partial<SiteVariable>) =>
    setRows((all) => all.map((row) => (row.id === id ? {...row, variable: {...row.variable, ...what}} : row)));
  const add = () => {
    const row = rowOf(blank());
    setRows((all) => [...all, row]);
    setOpen(row.id);
    setNews("A variable was added at the end.");
    focus.current = `variable-${row.id}-edit`;
  };
  const move = (at: number, by: -1 | 1) => {
    const row = rows[at];
    const to = at + by;
    if (!row || to < 0 || to >= rows.length) return;
    setRows(moved(rows, at, by));
    setNews(`${plain(row.variable.name)} is now number ${to + 1} of ${rows.length}.`);
    focus.current = `variable-${row.id}-${by < 0 ? "up" : "down"}`;
  };
  const remove = (at: number) => {
    const next = rows[at + 1] ?? rows[at - 1];
    setNews(`${plain(rows[at]?.variable.name ?? "")} was removed.`);
    setRows((all) => all.filter((_, i) => i !== at));
    focus.current = next ? `variable-${next.id}-edit` : "add-variable";
  };
  const draft = useAction(async () => {
    const made = await post<DictionaryDraft>(`/tables/${table.name}/dictionary/draft`, {});
    const known = new Set(rows.map((row) => row.variable.name.trim()));
    const fresh = made.variables.filter((one) => !known.has(one.name)).map(rowOf);
    setRows((all) => [...all, ...fresh]);
    setLeftOut(made.left_out);
    setNews(`${count(fresh.length, "column was", "columns were")} added, hidden from other sites.`);
  });
  const save = useAction(async () => {
    const saved = await post<SavedDictionary>(`/tables/${table.name}/dictionary`, {
      variables: JSON.parse(body) as SiteVariable[],
      version
    });
    setVersion(saved.dictionary.version);
    setNews("Saved.");
    again();
  });
  const wrongOf = (at: number) =>
    current ? (checked.check?.problems.find((problem) => problem.variable === at) ?? null) : null;
  return (
    <>
      {table.own?.problem && (
        <div class="notice danger">
          <strong>The file of this dictionary cannot be read, so no study of the table is valid here.</strong>
          <p>{sentence(table.own.problem)} What you save here takes its place.</p>
        </div>
      )}
      <p>
        A study that asks for a hidden variable is refused, in the same words as one that asks for a column that is not
        there. Variables that others may ask for need bounds or levels: write what can occur, not what the table has.
      </p>
      <ProblemBox problem={draft.problem} />
      <p class="buttons">
        <button type="button" aria-disabled={draft.busy ? "true" : undefined} onClick={() => void draft.run()}>
          {draft.busy ? "Reading the table …" : "Add the columns of the table"}
        </button>
      </p>
      {leftOut.length > 0 && (
        <details>
          <summary>{count(leftOut.length, "column was", "columns were")} left out</summary>
          <ul class="list">
            {leftOut.map((column) => (
              <li key={column.name}>
                <Said text={short(column.name, 128)} />: {column.why}
              </li>
            ))}
          </ul>
        </details>
      )}
      <section aria-labelledby="variables">
        <h2 id="variables">Variables</h2>
        {rows.length === 0 && <p class="faint">There is none yet.</p>}
        <ol class="cards variables">
          {rows.map((row, at) => (
            <VariableRow
              key={row.id}
              row={row}
              at={at}
              of={rows.length}
              open={open === row.id}
              wrong={wrongOf(at)}
              onOpen={(opens) => setOpen(opens ? row.id : 0)}
              onInput={(what) => change(row.id, what)}
              onMove={(by) => move(at, by)}
              onRemove={() => remove(at)}
            />
          ))}
        </ol>
        <p class="buttons">
          <button type="button" id="add-variable" onClick={add}>
            Add a variable
          </button>
        </p>
      </section>
      <section aria-labelledby="changes">
        <h2 id="changes">Save</h2>
        <div aria-live="polite">
          <Changes checked={checked} busy={!current} again={again} />
        </div>
        <Form onSubmit={() => ready && void save.run()} label="Save the dictionary">
          <ProblemBox problem={save.problem} />
          {ready ? (
            <Submit busy={save.busy}>Save the dictionary</Submit>
          ) : (
            <button type="submit" class="main" aria-disabled="true">
              Save the dictionary
            </button>
          )}
        </Form>
        <p class="faint" role="status">
          {news}
        </p>
        <Unfold label="Drop my changes …" tone="plain">
          {() => (
            <>
              <p>What is saved is opened again, and what you typed here is gone.</p>
              <button type="button" class="danger" onClick={reload}>
                Drop my changes
              </button>
            </>
          )}
        </Unfold>
      </section>
    </>
  );
}

export function DictionaryPage({name}: {name: string}) {
  // The editor begins anew when its key changes, and not by the news of the node: what is typed stays.
  const [times, setTimes] = useState(0);
  const key = `dictionary ${name} ${times}`;
  const {value, problem, reload} = useLoaded(key, (cause) => get<Tables>("/tables", cause));
  const table = value?.tables.find((one) => one.name === name);
  return (
    <>
      <Head title={`Dictionary of ${name}`} kicker={<a href="#/tables">Tables</a>} />
      {!value && <Waiting problem={problem} retry={reload} />}
      {value &&
        (table ? (
          <Editor key={key} table={table} reload={() => setTimes((n) => n + 1)} />
        ) : (
          <p>
            This site has no such table. <a href="#/tables">Tables</a>
          </p>
        ))}
    </>
  );
}
