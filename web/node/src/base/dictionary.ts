// The dictionary of a table while it is edited: rows with an identity, and what of a row is sent.
import type {SiteVariable} from "./types";

export const kTypes = ["numeric", "integer", "factor", "ordered", "date", "survival"] as const;

export interface Row {
  id: number; // of this window: rows move and change their names
  variable: SiteVariable;
}

let given = 0;
export const rowOf = (variable: SiteVariable): Row => ({id: ++given, variable});

export const blank = (): SiteVariable => ({
  name: "",
  type: "numeric",
  description: "",
  unit: "",
  lower: "",
  upper: "",
  levels: [],
  missing_codes: [],
  reference: "",
  contrasts: "",
  time: "",
  event: "",
  hidden: true
});

export const hasLevels = (type: string): boolean => type === "factor" || type === "ordered";
export const hasUnit = (type: string): boolean => type === "numeric" || type === "integer" || type === "survival";

// Texts as they are typed, and only the fields of its type: another type may be tried without losing anything.
export function sent({variable}: Row): SiteVariable {
  const {type} = variable;
  const only = (fits: boolean, text: string) => (fits ? text.trim() : "");
  const list = (texts: string[]) => texts.map((text) => text.trim()).filter(Boolean);
  return {
    ...variable,
    name: variable.name.trim(),
    description: variable.description.trim(),
    unit: only(hasUnit(type), variable.unit),
    lower: only(!hasLevels(type), variable.lower),
    upper: only(!hasLevels(type), variable.upper),
    levels: hasLevels(type) ? list(variable.levels) : [],
    missing_codes: list(variable.missing_codes),
    reference: only(hasLevels(type), variable.reference),
    contrasts: only(hasLevels(type), variable.contrasts),
    time: only(type === "survival", variable.time),
    event: only(type === "survival", variable.event)
  };
}

export function moved(rows: Row[], from: number, by: -1 | 1): Row[] {
  const to = from + by;
  const row = rows[from];
  const other = rows[to];
  if (!row || !other) return rows;
  const next = [...rows];
  next[to] = row;
  next[from] = other;
  return next;
}
