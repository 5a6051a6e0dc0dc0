// A study file, checked while it is typed; its plan; then it is proposed to all its parties.
import {useContext, useEffect, useRef, useState} from "preact/hooks";
import {call, get, post, Problem} from "../base/api";
import {LogIn, useAction, useLoaded, useOnceKey} from "../base/live";
import {go} from "../base/router";
import {count, plain, sentence} from "../base/text";
import type {Check, Tables} from "../base/types";
import {Area, Field, Form, ProblemBox, Submit} from "../parts/form";
import {Head} from "../parts/page";
import {PlanView} from "../parts/plan";
import {Said} from "../parts/words";

const kTypingPause = 600; // ms

type Checked =
  | {kind: "empty"}
  | {kind: "checking"; before: Check | null}
  | {kind: "checked"; file: string; check: Check}
  | {kind: "problem"; problem: Problem};

// What the node says about the text, a moment after it was last changed.
function useCheck(file: string): [Checked, () => void] {
  const [checked, setChecked] = useState<Checked>({kind: "empty"});
  const [again, setAgain] = useState(0);
  const login = useContext(LogIn);
  const last = useRef<Check | null>(null);
  useEffect(() => {
    if (file.trim() === "") {
      last.current = null;
      setChecked({kind: "empty"});
      return;
    }
    setChecked({kind: "checking", before: last.current});
    const stop = new AbortController();
    const timer = setTimeout(() => {
      call<Check>("POST", "/studies/check", {body: {file}, signal: stop.signal}).then(
        (check) => {
          last.current = check;
          setChecked({kind: "checked", file, check});
        },
        (error: unknown) => {
          if (!stop.signal.aborted && error instanceof Problem) setChecked({kind: "problem", problem: error});
        }
      );
    }, kTypingPause);
    return () => {
      clearTimeout(timer);
      stop.abort();
    };
  }, [file, again, login]);
  return [checked, () => setAgain((n) => n + 1)];
}

function Verdict({checked, again}: {checked: Checked; again: () => void}) {
  switch (checked.kind) {
    case "empty":
      return <p class="faint">Type or paste a study file, or choose one; it is checked while you type.</p>;
    case "checking":
      return <p class="faint">Checking …</p>;
    case "problem":
      return (
        <>
          <ProblemBox problem={checked.problem} />
          <button type="button" onClick={again}>
            Check again
          </button>
        </>
      );
    case "checked": {
      const {valid, problem, warnings, name} = checked.check;
      if (!valid) {
        return (
          <div class="notice danger">
            <strong>{problem ? sentence(problem.message) : "The study is not valid."}</strong>
            {problem?.hint && <p>{sentence(problem.hint)}</p>}
          </div>
        );
      }
      return (
        <>
          <div class="notice good">
            <strong>
              The study <Said text={name} /> is valid.
            </strong>
            <p>Its plan is below. Nothing was sent to anybody yet.</p>
          </div>
          {warnings.length > 0 && (
            <div class="notice warn">
              {warnings.map((warning) => (
                <p key={warning}>{sentence(warning)}</p>
              ))}
            </div>
          )}
        </>
      );
    }
  }
}

// What the dictionaries of this site let others see, to be put into the file.
function OwnVariables({file, add}: {file: string; add: (text: string) => void}) {
  const {value} = useLoaded("own-variables", (cause) => get<Tables>("/tables", cause));
  const tables = (value?.tables ?? []).filter((table) => table.own?.offered.length);
  if (!tables.length) return null;
  return (
    <>
      {tables.map((table) => {
        const offered = table.own?.offered ?? [];
        return (
          <details key={table.name}>
            <summary>{`Variables of this site's table ${plain(table.name)}: ${count(offered.length, "variable", "variables")}`}</summary>
            <ul class="offered">
              {offered.map(({name, text}) => {
                const there = file.includes(`name = "${name}"`);
                return (
                  <li key={name}>
                    <button
                      type="button"
                      class="plain"
                      aria-disabled={there ? "true" : undefined}
                      onClick={() => !there && add(text)}
                    >
                      {there ? "In the file: " : "Add "}
                      <bdi>{plain(name)}</bdi>
                    </button>
                  </li>
                );
              })}
            </ul>
          </details>
        );
      })}
    </>
  );
}

export function NewStudy({own, propose}: {own: string; propose: boolean}) {
  const [file, setFile] = useState("");
  const [days, setDays] = useState("14");
  const [checked, again] = useCheck(file);
  const key = useOnceKey();
  const valid = checked.kind === "checked" && checked.check.valid && checked.file === file;
  const send = useAction(async () => {
    const body = {file, days: Number(days)};
    const made = await post<{study: string}>("/studies", body, key.of(JSON.stringify(body)));
    key.done();
    go(`#/studies/${made.study}`);
  });
  const choose = async (chosen: File | undefined) => {
    if (chosen) setFile(await chosen.text());
  };
  // The plan stays while the text is checked anew.
  const plan =
    checked.kind === "checked" ? checked.check : checked.kind === "checking" ? checked.before : null;
  return (
    <>
      <Head
        title={propose ? "New study" : "Check a study file"}
        kicker="Checked here first; proposed when you say so"
      />
      <div class="field">
        <label for="file">A study file from this computer</label>
        <input
          id="file"
          type="file"
          accept=".toml,text/plain"
          onChange={(event) => void choose(event.currentTarget.files?.[0])}
        />
      </div>
      <Area
        label="Study file"
        class="code"
        value={file}
        onInput={setFile}
        maxLength={1_048_576}
        invalid={checked.kind === "checked" && !checked.check.valid}
      />
      <OwnVariables file={file} add={(text) => setFile(file.trim() === "" ? text : `${file.trimEnd()}\n\n${text}`)} />
      <div aria-live="polite">
        <Verdict checked={checked} again={again} />
      </div>
      {propose && (
        <Form onSubmit={() => valid && void send.run()} label="Propose">
          <ProblemBox problem={send.problem} />
          <Field
            label="Open for how many days"
            hint="Until then all sites approve, and it runs."
            type="number"
            min={1}
            max={60}
            required
            value={days}
            onInput={setDays}
            class="short"
          />
          {valid ? (
            <Submit busy={send.busy}>Propose to all parties</Submit>
          ) : (
            <button type="submit" class="main" aria-disabled="true" aria-describedby="why-not">
              Propose to all parties
            </button>
          )}
          {!valid && (
            <p class="faint small" id="why-not">
              It can be proposed when it is valid.
            </p>
          )}
        </Form>
      )}
      {plan?.valid && (
        <div class="plan">
          <PlanView plan={plan.plan} text={plan.plan_text} own={own} />
        </div>
      )}
    </>
  );
}
