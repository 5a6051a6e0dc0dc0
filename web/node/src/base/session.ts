// Who is logged in, for the whole page. The session itself is in a cookie that scripts cannot read.
import type {Session, SetUp} from "./types";

export type Entry =
  | {kind: "loading"}
  | {kind: "unreachable"}
  | {kind: "setup"; setup: SetUp}
  | {kind: "login"; setup: SetUp}
  | {kind: "in"; session: Session}
  // It ended while somebody worked: the page stays as it is, unseen, until the same person is back.
  | {kind: "ended"; session: Session};

let entry: Entry = {kind: "loading"};
const listeners = new Set<() => void>();

export const currentEntry = (): Entry => entry;

export function setEntry(next: Entry): void {
  entry = next;
  for (const listener of listeners) listener();
}

export function onEntry(listener: () => void): () => void {
  listeners.add(listener);
  return () => void listeners.delete(listener);
}

export const csrf = (): string => (entry.kind === "in" ? entry.session.csrf : "");

export function endSession(): void {
  if (entry.kind === "in") setEntry({kind: "ended", session: entry.session});
}
