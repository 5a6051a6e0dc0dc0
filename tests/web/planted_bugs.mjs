// Bugs that a journey of pages_test.mjs has to notice: in FILE of web/node/src the text FROM, which is there
// once, becomes TO. node planted_bugs.mjs FOLDER [NAME...] plants one after the other, in FOLDER.
import {execFileSync, spawnSync} from "node:child_process";
import {cpSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync} from "node:fs";
import {join} from "node:path";
import {argv, exit} from "node:process";
import {fileURLToPath} from "node:url";
import {root} from "./samples.mjs";

export const kBugs = [
  {
    name: "a_dictionary_is_saved_over_another",
    file: "pages/dictionary.tsx",
    from: "      version\n    });",
    to: "      version: table.own?.version ?? \"\"\n    });",
    journey: "dictionary: a steward writes one, by keyboard"
  },
  {
    name: "a_removed_variable_takes_the_focus_along",
    file: "pages/dictionary.tsx",
    from: "focus.current = next ? `variable-${next.id}-edit` : \"add-variable\";",
    to: "",
    journey: "dictionary: a steward writes one, by keyboard"
  },
  {
    name: "news_take_away_what_is_typed",
    file: "pages/dictionary.tsx",
    from: "<Editor key={key}",
    to: "<Editor key={`${key} ${table.own?.version}`}",
    journey: "dictionary: nothing is saved over what another steward saved"
  },
  {
    name: "an_approval_of_any_table",
    file: "pages/decide.tsx",
    from: "table: screen.table?.digest ?? \"\",",
    to: "table: \"\",",
    journey: "a steward sees where a study departs from the dictionary"
  },
  {
    name: "no_edition_is_shown",
    file: "pages/study.tsx",
    from: "{table.edition !== \"\" && (",
    to: "{table.edition === \"never\" && (",
    journey: "a steward approves with two clicks and a passphrase"
  },
  {
    name: "closed_tables_are_in_service",
    file: "parts/closed.tsx",
    from: "if (!restored?.closed) return null;",
    to: "return null;",
    journey: "tables are closed since a restore"
  },
  {
    name: "a_mark_that_cannot_be_read_is_to_be_signed",
    file: "parts/closed.tsx",
    from: "restored.time === \"\" ?",
    to: "restored.time === \"never\" ?",
    journey: "tables are closed since a restore"
  },
  {
    name: "record_ends_with_its_first_page",
    file: "pages/audit.tsx",
    from: "after = page.next;\n  } while (after !== \"\");",
    to: "after = page.next;\n  } while (after === \"never\");",
    journey: "an auditor takes the record of processing along"
  },
  {
    name: "days_of_waiting_from_the_first",
    file: "parts/study_words.tsx",
    from: "const kRemindDays = 2;",
    to: "const kRemindDays = 1;",
    journey: "a study that waits for days says so"
  },
  {
    name: "record_of_all_days",
    file: "pages/audit.tsx",
    from: "${from && `&from=${from}`}",
    to: "",
    journey: "an auditor takes the record of processing along"
  },
  {
    name: "ethics_reference_is_not_missed",
    file: "parts/plan.tsx",
    from: "declared?.ethics || \"none is named\"",
    to: "declared?.ethics",
    journey: "a steward reads what a study says it is for"
  },
  {
    name: "a_deleted_result_seems_kept",
    file: "pages/study.tsx",
    from: "(study.result.has_json || !result_kept) && (",
    to: "study.result.has_json && (",
    journey: "every state has its sentence"
  },
  {
    name: "formulas_in_the_log",
    file: "base/csv.ts",
    from: "/^[=+\\-@\\t\\r]/.test(text)",
    to: "/^[+\\-@\\t\\r]/.test(text)",
    journey: "an auditor reads the log"
  },
  {
    name: "pages_of_the_log_in_place_of_the_first",
    file: "pages/audit.tsx",
    from: "entries: [...(more?.entries ?? []), ...page.entries]",
    to: "entries: page.entries",
    journey: "a long log comes by pages"
  },
  {
    name: "a_changed_log_is_shown_as_any",
    file: "pages/audit.tsx",
    from: "const fault = more?.fault ?? first.value?.fault ?? null;",
    to: "const fault = more?.fault ?? null;",
    journey: "a long log comes by pages"
  },
  {
    name: "bits_that_do_not_pass_are_left_out",
    file: "parts/plan.tsx",
    from: "{bits && !bits.passes && ",
    to: "{bits && bits.passes && ",
    journey: "a study is checked while it is typed"
  },
  {
    name: "notes_of_a_plan_are_left_out",
    file: "parts/plan.tsx",
    from: "if (plan.notes.length === 0) return null;",
    to: "return null;",
    journey: "a study is checked while it is typed"
  },
  {
    name: "reloads_are_clicks",
    file: "base/live.ts",
    from: "latest.current({signal: stop.signal, byItself})",
    to: "latest.current({signal: stop.signal})",
    journey: "what nobody clicked for"
  },
  {
    name: "plans_of_files_of_others",
    file: "pages/study.tsx",
    from: "study.file && study.own) {",
    to: "study.file) {",
    journey: "what nobody clicked for"
  },
  {
    name: "passphrase_stays_below_other_keys",
    file: "pages/parties.tsx",
    from: "key={idOf(candidate)}",
    to: "key={candidate.name}",
    journey: "a passphrase that was typed below keys"
  },
  {
    name: "words_of_peers_as_markup",
    file: "parts/words.tsx",
    from: '<bdi>{plain(text)}</bdi>',
    to: '<bdi dangerouslySetInnerHTML={{__html: text}} />',
    journey: "words of peers are text"
  },
  {
    name: "unseen_characters_stay",
    file: "base/text.ts",
    from: "\\u2028-\\u202e",
    to: "\\u2028-\\u2029",
    journey: "words of peers are text"
  },
  {
    name: "reason_left_out",
    file: "parts/study_words.tsx",
    from: "`It was rejected${because(study)}.`",
    to: '"It was rejected."',
    journey: "a steward rejects with a reason"
  },
  {
    name: "approval_asks_once_more",
    file: "pages/decide.tsx",
    from: '<Submit busy={approve.busy}>Approve</Submit>',
    to: '<Unfold label="Approve …">{() => <Submit busy={approve.busy}>Approve</Submit>}</Unfold>',
    journey: "a steward approves with two clicks"
  },
  {
    name: "approval_without_the_stricter_count",
    file: "pages/decide.tsx",
    from: '...(minCell.trim() === "" ? {} : {min_cell: Number(minCell)}),',
    to: "",
    journey: "an approval with stricter limits"
  },
  {
    name: "a_deputy_signs_as_the_steward",
    file: "parts/signer.tsx",
    from: '(name === kSteward || name === "" ? {} : {deputy: name})',
    to: '(name === kSteward || name === "" || name !== "" ? {} : {deputy: name})',
    journey: "two persons sign"
  },
  {
    name: "the_first_signature_is_not_told",
    file: "pages/decide.tsx",
    from: "screen.stewards_needed === 1",
    to: "screen.stewards_needed >= 1",
    journey: "two persons sign"
  },
  {
    name: "approval_of_what_cannot_be_approved",
    file: "pages/decide.tsx",
    from: "!props.screen.can_approve",
    to: "false",
    journey: "warnings of the path of trust"
  },
  {
    name: "warnings_below_the_plan",
    file: "pages/study.tsx",
    from: "{screen && <Trust screen={screen} decided={study.is_over} />}",
    to: "",
    journey: "warnings of the path of trust"
  },
  {
    name: "typed_text_lost_with_the_session",
    file: "app.tsx",
    from: "<div hidden={ended}>",
    to: "<div hidden={ended} key={String(ended)}>",
    journey: "a session that ends keeps"
  },
  {
    name: "page_seen_after_the_session",
    file: "app.tsx",
    from: "<div hidden={ended}>",
    to: "<div>",
    journey: "a session that ends keeps"
  },
  {
    name: "another_account_sees_what_was_typed",
    file: "app.tsx",
    from: "key={`${session.name} ${session.role}`}",
    to: 'key="all"',
    journey: "a session that ends keeps"
  },
  {
    name: "passphrase_outlives_the_session",
    file: "parts/form.tsx",
    from: 'if (currentEntry().kind !== "in") onInput("");',
    to: "",
    journey: "a passphrase does not outlive"
  },
  {
    name: "proposed_twice",
    file: "base/live.ts",
    from: "if (kept.current?.what !== what) {",
    to: "{",
    journey: "a study is checked while it is typed"
  },
  {
    name: "proposed_before_it_is_valid",
    file: "pages/new_study.tsx",
    from: 'aria-disabled="true" aria-describedby="why-not"',
    to: 'aria-describedby="why-not"',
    journey: "a study is checked while it is typed"
  },
  {
    name: "no_warning_about_calls",
    file: "pages/pairing.tsx",
    from: "<p>Never type digits for somebody who calls you.</p>",
    to: "",
    journey: "the inviter"
  },
  {
    name: "stop_without_a_second_word",
    file: "pages/node.tsx",
    from: '<Unfold label="Stop everything …" tone="danger">',
    to: '<Unfold label="Stop" tone="danger">',
    journey: "emergency stop"
  },
  {
    name: "operator_offered_to_accept",
    file: "base/roles.ts",
    from: 'operator: ["pair",',
    to: 'operator: ["decide", "pair",',
    journey: "each role sees"
  },
  {
    name: "pale_text",
    file: "style/base.css",
    from: "--faint: #566370;",
    to: "--faint: #96a3b0;",
    journey: "set-up from afar"
  },
  {
    name: "field_without_a_name",
    file: "parts/form.tsx",
    from: "<label for={id}>{label}</label>\n      {hint !== undefined && (\n        <p class=\"hint\" id={`${id}-hint`}>\n          {hint}\n        </p>\n      )}\n      <input",
    to: "<span>{label}</span>\n      <input",
    journey: "set-up from this machine"
  },
  {
    name: "focus_not_seen",
    file: "style/base.css",
    from: "outline: 3px solid var(--accent);",
    to: "outline: none;",
    journey: "the keyboard alone"
  },
  {
    name: "paper_with_buttons",
    file: "style/print.css",
    from: "  .decide,\n",
    to: "",
    journey: "paper gets the study"
  },
  {
    name: "wide_tables",
    file: "style/parts.css",
    from: ".table {\n  overflow-x: auto;\n}",
    to: ".table {\n  min-width: 900px;\n}",
    journey: "each role sees"
  },
  {
    name: "budgets_for_analysts",
    file: "pages/tables.tsx",
    from: 'may(role, "read-budgets") ? get<TableBudgets>("/tables/budgets", cause) : null',
    to: 'get<TableBudgets>("/tables/budgets", cause)',
    journey: "tables: their variables"
  },
  {
    name: "insiders_left_out",
    file: "pages/tables.tsx",
    from: "{budget.lines.map((line) => (",
    to: "{budget.lines.slice(0, 1).map((line) => (",
    journey: "tables: their variables"
  },
  {
    name: "missing_table_not_told",
    file: "pages/tables.tsx",
    from: '<Tag tone="danger">missing</Tag>',
    to: '<Tag tone="danger">there</Tag>',
    journey: "tables: their variables"
  },
  {
    name: "levels_without_end",
    file: "pages/tables.tsx",
    from: "variable.levels.slice(0, mostLevels)",
    to: "variable.levels.slice(0)",
    journey: "tables: words of others"
  },
  {
    name: "policy_used_up_holds",
    file: "pages/policies.tsx",
    from: "policy.results >= policy.max_results || spent",
    to: "spent",
    journey: "policies: what was signed"
  },
  {
    name: "auditor_offered_to_end_policies",
    file: "pages/policies.tsx",
    from: 'ends={may(role, "decide")}',
    to: "ends",
    journey: "policies: what was signed"
  },
  {
    name: "draft_of_a_policy_without_its_command",
    file: "parts/policy_draft.tsx",
    from: '<Command text={addCommand(file)} label="Command that signs the policy" />',
    to: "",
    journey: "a study as a policy"
  },
  {
    name: "peers_word_in_a_command",
    file: "parts/policy_draft.tsx",
    from: '/^[A-Za-z0-9][A-Za-z0-9_-]*$/.test(name)',
    to: "name",
    journey: "a study as a policy"
  },
  {
    name: "told_for_ever",
    file: "pages/study.tsx",
    from: 'told.state === study.state ? told.what : ""',
    to: "told.what",
    journey: "a steward approves"
  },
  {
    name: "failed_without_why",
    file: "pages/study.tsx",
    from: "<p>{sentence(screen.problem)}</p>",
    to: "",
    journey: "every state"
  },
  {
    name: "lost_node_not_told",
    file: "base/live.ts",
    from: "onLost(true);",
    to: "",
    journey: "a node that stops answering"
  }
];

export const sourceOf = (bug) => join(root, "web/node/src", bug.file);

function plant(folder, bug) {
  const web = join(folder, "web");
  rmSync(web, {recursive: true, force: true});
  mkdirSync(web);
  for (const name of ["bundle.mjs", "package.json", "node"]) cpSync(join(root, "web", name), join(web, name), {recursive: true});
  symlinkSync(join(root, "web/node_modules"), join(web, "node_modules"));
  const file = join(web, "node/src", bug.file);
  writeFileSync(file, readFileSync(file, "utf8").replace(bug.from, () => bug.to));
  execFileSync("node", [join(web, "node/build.mjs"), join(folder, "planted.json")]);
}

function passes(folder, journey, bundle) {
  const env = {...process.env, PARTITA_PAGES_FOLDER: folder, PARTITA_PAGES_BUNDLE: bundle};
  const args = ["--test-reporter=spec", `--test-name-pattern=${journey}`, join(root, "tests/web/pages_test.mjs")];
  return spawnSync("node", args, {env, encoding: "utf8"}).status === 0;
}

if (argv[1] === fileURLToPath(import.meta.url)) {
  const [folder, ...names] = argv.slice(2);
  let survived = 0;
  // Without a bug, on the same way, the journey of the first one passes: what is red is red for its bug.
  plant(folder, {...kBugs[0], to: kBugs[0].from});
  if (!passes(folder, kBugs[0].journey, join(folder, "planted.json"))) {
    console.log("the journeys fail without a bug");
    exit(2);
  }
  for (const bug of kBugs.filter(({name}) => !names.length || names.includes(name))) {
    plant(folder, bug);
    const noticed = !passes(folder, bug.journey, join(folder, "planted.json"));
    console.log(`${noticed ? "noticed " : "SURVIVED"} ${bug.name}`);
    survived += noticed ? 0 : 1;
  }
  exit(survived ? 1 : 0);
}
