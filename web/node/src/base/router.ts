// Addresses inside of the page are fragments: "#/studies/0123". The server knows one page only.
import {useEffect, useState} from "preact/hooks";

export type Place =
  | {page: "inbox"}
  | {page: "studies"}
  | {page: "new-study"}
  | {page: "study"; study: string}
  | {page: "tables"}
  | {page: "dictionary"; table: string}
  | {page: "policies"}
  | {page: "parties"}
  | {page: "pairing"; number: string}
  | {page: "audit"; study: string}
  | {page: "accounts"}
  | {page: "node"}
  | {page: "nowhere"};

export function placeOf(fragment: string): Place {
  const [first = "", second, ...rest] = fragment.replace(/^#?\/?/, "").split("/");
  if (rest.length) return {page: "nowhere"};
  if (second === undefined) {
    switch (first) {
      case "":
        return {page: "inbox"};
      case "studies":
      case "tables":
      case "policies":
      case "parties":
      case "accounts":
      case "node":
        return {page: first};
      case "audit":
        return {page: "audit", study: ""};
      default:
        return {page: "nowhere"};
    }
  }
  if (first === "studies" && second === "new") return {page: "new-study"};
  if (first === "studies" && /^[0-9a-f]{64}$/.test(second)) return {page: "study", study: second};
  if (first === "tables" && /^[a-z0-9][a-z0-9-]{0,31}$/.test(second)) return {page: "dictionary", table: second};
  if (first === "audit" && /^[0-9a-f]{64}$/.test(second)) return {page: "audit", study: second};
  if (first === "pairings" && /^[0-9a-f]{32}$/.test(second)) return {page: "pairing", number: second};
  return {page: "nowhere"};
}

export const go = (fragment: string): void => {
  location.hash = fragment;
};

export function useFragment(): string {
  const [fragment, setFragment] = useState(location.hash);
  useEffect(() => {
    const changed = () => setFragment(location.hash);
    addEventListener("hashchange", changed);
    changed(); // it may have changed since the page was drawn
    return () => removeEventListener("hashchange", changed);
  }, []);
  return fragment;
}
