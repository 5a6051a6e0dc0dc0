// What an account's role may do; the server decides, the page only leaves out what would be refused.
import type {Role} from "./types";

export type Act =
  | "decide" // approve, reject, confirm, accept, revoke, go on: the steward's signature
  | "read-decisions"
  | "read-policies"
  | "read-budgets"
  | "describe" // write dictionaries of tables
  | "propose"
  | "check"
  | "withdraw"
  | "read-results"
  | "pair" // invite, join, digits
  | "read-pairings"
  | "stop"
  | "manage-accounts"
  | "read-accounts"
  | "read-audit";

const kMay: Record<Role, readonly Act[]> = {
  steward: [
    "decide", "read-decisions", "read-policies", "read-budgets", "describe", "check", "withdraw", "read-results", "pair",
    "read-pairings", "stop", "manage-accounts", "read-accounts", "read-audit"
  ],
  analyst: ["propose", "check", "withdraw", "read-results"],
  operator: ["pair", "read-pairings", "stop", "manage-accounts", "read-accounts", "read-audit"],
  auditor: ["read-decisions", "read-policies", "read-budgets", "read-results", "read-pairings", "read-accounts", "read-audit"]
};

export const may = (role: Role, act: Act): boolean => kMay[role].includes(act);

export const kRoles: Array<{role: Role; what: string}> = [
  {role: "steward", what: "decides which studies may use this site's tables, and who is a party"},
  {role: "analyst", what: "proposes studies and reads results"},
  {role: "operator", what: "keeps the node running, invites sites, manages accounts"},
  {role: "auditor", what: "reads everything, changes nothing"}
];
