// Small pieces of text. Whatever peers wrote goes through Said or Listing: text nodes, kept apart from
// the text around it.
import type {ComponentChildren} from "preact";
import {dayText, fromNow, groups, plain, timeText} from "../base/text";
import type {State} from "../base/types";

export const Said = ({text, or = ""}: {text: string; or?: string}) =>
  text.trim() === "" ? <span class="faint">{or}</span> : <bdi>{plain(text)}</bdi>;

// A file of several lines; scrolls, so the keyboard can get into it.
export const Listing = ({text, label}: {text: string; label: string}) => (
  <pre class="file" tabIndex={0} role="region" aria-label={label} dir="ltr">
    {plain(text)}
  </pre>
);

export const When = ({at, relative = false}: {at: string; relative?: boolean}) => (
  <time dateTime={at} title={`${at} (UTC)`}>
    {timeText(at)}
    {relative && ` (${fromNow(at, Date.now())})`}
  </time>
);

export const Day = ({at}: {at: string}) => (
  <time dateTime={at} title={`${at} (UTC)`}>
    {dayText(at)}
  </time>
);

export const Fingerprint = ({value}: {value: string}) => (
  <code class="fingerprint">{groups(plain(value), 8).join(" ")}</code>
);

// To be read out on the telephone, five characters at a time.
export const PlanCode = ({code}: {code: string}) => (
  <p class="plan-code" dir="ltr">
    {groups(plain(code), 5).map((group) => (
      <span key={group}>{group} </span>
    ))}
  </p>
);

export type Tone = "good" | "danger" | "warn" | "plain" | "accent";

export const Tag = ({tone, children}: {tone: Tone; children: ComponentChildren}) => (
  <span class={`tag ${tone}`}>{children}</span>
);

const kStates: Record<State, {word: string; tone: Tone}> = {
  proposed: {word: "being checked", tone: "plain"},
  validated: {word: "valid here", tone: "plain"},
  settled: {word: "to be approved", tone: "accent"},
  approved: {word: "approved here", tone: "accent"},
  agreed: {word: "approved by all", tone: "accent"},
  scheduled: {word: "starting", tone: "accent"},
  running: {word: "running", tone: "accent"},
  closing: {word: "ending", tone: "accent"},
  finished: {word: "finished", tone: "good"},
  failed: {word: "failed", tone: "danger"},
  rejected: {word: "rejected", tone: "danger"},
  withdrawn: {word: "withdrawn", tone: "plain"},
  expired: {word: "expired", tone: "plain"}
};

export const stateWord = (state: State): string => kStates[state].word;

export const StateTag = ({state}: {state: State}) => (
  <Tag tone={kStates[state].tone}>{kStates[state].word}</Tag>
);
