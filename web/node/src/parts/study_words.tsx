// Where a study stands, in a sentence.
import {count, listOf, plain, short} from "../base/text";
import type {StudySummary} from "../base/types";

export const nameOf = (study: {name: string; title: string}): string =>
  short(plain(study.title || study.name || "a study without a name"), 160);

const missing = (study: StudySummary): string[] =>
  study.parties.filter((party) => !study.approved.includes(party)).map(plain);

function shareDone(study: StudySummary): string {
  const slowest = Math.min(...study.progress.map((one) => one.done_per_mille));
  return study.progress.length ? `, ${Math.floor(slowest / 10)} % done` : "";
}

function because(study: StudySummary): string {
  if (!study.reason) return "";
  return study.who ? `: ${plain(study.who)} says “${plain(study.reason)}”` : `: ${plain(study.reason)}`;
}

// Whole days that the study waits for this site's steward, from kRemindDays on; else 0.
const kRemindDays = 2;
export function daysWaiting(study: StudySummary, now = Date.now()): number {
  const days = Math.floor((now - new Date(study.waits_since).getTime()) / 86_400_000);
  return study.needs_decision && days >= kRemindDays ? days : 0;
}

export function stands(study: StudySummary): string {
  const given = `${study.approved.length} of ${study.parties.length} sites have approved`;
  switch (study.state) {
    case "proposed":
      return "This node checks whether the study is valid here.";
    case "validated":
      return study.unchecked.length > 0
        ? `It is valid here. It waits for ${listOf(study.unchecked)} to check it.`
        : "It is valid here. The other sites still check it.";
    case "settled":
      if (study.signed_here.length > 0)
        return `1 of 2 has signed at this site: ${listOf(study.signed_here.map(plain))}. It waits for another person; ${given}.`;
      return study.needs_decision
        ? `It waits for the decision of this site's steward${
            daysWaiting(study) ? `, for ${count(daysWaiting(study), "day", "days")}` : ""
          }; ${given}.`
        : `It waits for approvals; ${given}.`;
    case "approved":
      return `This site has approved. It waits for ${listOf(missing(study)) || "the last word of the others"}.`;
    case "agreed":
      return "All sites have approved. It starts as soon as all nodes are free.";
    case "scheduled":
      return "It is about to start.";
    case "running":
      return `It runs${shareDone(study)}.`;
    case "closing":
      return "The run has ended; the sites tell each other how.";
    case "finished":
      return "It is finished.";
    case "failed":
      return `It failed${because(study)}.`;
    case "rejected":
      return `It was rejected${because(study)}.`;
    case "withdrawn":
      return `It was withdrawn${because(study)}.`;
    case "expired":
      return `Its time is over${because(study)}.`;
  }
}
