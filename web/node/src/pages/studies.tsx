import {useEffect, useState} from "preact/hooks";
import {get} from "../base/api";
import {useAction, useLoaded} from "../base/live";
import {may} from "../base/roles";
import type {Role, Studies, StudySummary} from "../base/types";
import {Field, ProblemBox} from "../parts/form";
import {Head, Waiting} from "../parts/page";
import {StudyCard} from "../parts/study_card";

type Which = "open" | "over" | "all";

const kWhich: Record<Which, string> = {open: "open", over: "over", all: "open and over"};

const holds = (study: StudySummary, words: string): boolean =>
  [study.name, study.title, study.proposer, study.state, study.study].some((text) =>
    text.toLowerCase().includes(words.trim().toLowerCase())
  );

export function StudiesPage({role}: {role: Role}) {
  const [which, setWhich] = useState<Which>("open");
  const [words, setWords] = useState("");
  const [more, setMore] = useState<Studies | null>(null); // pages after the first
  const first = useLoaded(`studies ${which}`, (cause) =>
    get<Studies>(`/studies?state=${which}&limit=50`, cause)
  );
  useEffect(() => setMore(null), [first.value]);
  const next = more ? more.next : (first.value?.next ?? "");
  const load = useAction(async () => {
    const page = await get<Studies>(`/studies?state=${which}&limit=50&after=${encodeURIComponent(next)}`);
    setMore({studies: [...(more?.studies ?? []), ...page.studies], next: page.next});
  });
  const all = [...(first.value?.studies ?? []), ...(more?.studies ?? [])];
  const shown = all.filter((study) => holds(study, words));
  return (
    <>
      <Head title="Studies">
        {may(role, "propose") && (
          <a class="button main" href="#/studies/new">
            New study
          </a>
        )}
      </Head>
      <div class="filter" role="search" aria-label="Studies">
        <div class="field">
          <label for="which">Which</label>
          <select
            id="which"
            value={which}
            onChange={(event) => setWhich(event.currentTarget.value as Which)}
          >
            {Object.entries(kWhich).map(([value, label]) => (
              <option value={value} key={value}>
                {label}
              </option>
            ))}
          </select>
        </div>
        <Field label="With these words" value={words} onInput={setWords} />
      </div>
      {first.value ? (
        <>
          <p class="faint small" role="status">
            {shown.length === 0
              ? all.length === 0
                ? which === "open"
                  ? "No study is open."
                  : "There is no study."
                : "No study has these words."
              : `${shown.length} shown${next ? ", there are more" : ""}`}
          </p>
          <h2 class="unseen">Studies found</h2>
          <ul class="cards">
            {shown.map((study) => (
              <StudyCard key={study.study} study={study} />
            ))}
          </ul>
          <ProblemBox problem={load.problem} />
          {next && (
            <p class="buttons">
              <button type="button" onClick={() => void load.run()}>
                Show more
              </button>
            </p>
          )}
        </>
      ) : (
        <Waiting problem={first.problem} retry={first.reload} />
      )}
    </>
  );
}
