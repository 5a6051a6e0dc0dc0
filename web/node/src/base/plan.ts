// The part of a plan (docs/schemas/plan.json) that the pages show in words; the rest stands in its text.
export interface PlanParty {
  name: string;
  roles: string[];
  contributes: string;
  learns: string[];
}

export interface Plan {
  study: string;
  title: string;
  declared?: {purpose: string; ethics: string; legal_basis: string; contact: string};
  method: string;
  protocol: string;
  engine: string;
  parties: PlanParty[];
  analyses: Array<{name: string; model: string; rows: string}>;
  releases: Array<{id: string; what: string; to: string; mechanism: string; max_count: number}>;
  checks: Array<{analysis: string; rule: string; warning: boolean}>;
  exposures: Array<{
    of: string;
    to: string;
    opened: number;
    statistics: number;
    exposes: string[];
    bits: null | {opened: number; table: number; passes: boolean; meaning: string};
  }>;
  privacy: Array<{adversary: string; adjacency: string; loss: string}>;
  privacy_statement: null | {
    rows: Array<{epsilon: "infinite" | {lower: number; upper: number}; delta?: number}>;
    caveats: string[];
  };
  assumptions: string[];
  notes: string[];
  predictions: Array<{network: string; seconds: number; wire_bytes: number}>;
}

const kLists = ["parties", "analyses", "releases", "checks", "exposures", "privacy", "assumptions", "notes",
                "predictions"] as const;

// Null for what is no plan of a version that these pages know.
export function planOf(value: Record<string, unknown> | null): Plan | null {
  if (!value || value["schema_version"] !== 2) return null;
  if (kLists.some((name) => !Array.isArray(value[name]))) return null;
  return value as unknown as Plan;
}

export interface Limits {
  exact: boolean; // nothing limits what is learned
  bound: string; // the largest epsilon, with its delta; empty: none
  unlimited: boolean; // not for everybody
}

export function limitsOf(plan: Plan): Limits {
  const rows = plan.privacy_statement?.rows ?? [];
  let bound = "";
  let largest = -1;
  for (const {epsilon, delta} of rows) {
    if (epsilon === "infinite" || epsilon.upper <= largest) continue;
    largest = epsilon.upper;
    bound = `epsilon is at most ${Number(largest.toPrecision(3))}${delta ? ` at delta ${delta}` : ""}`;
  }
  return {exact: rows.length === 0, bound, unlimited: rows.some(({epsilon}) => epsilon === "infinite")};
}

// What the method does, for people who do not know it by name.
const kMethods: Record<string, string> = {
  mle: "A structural equation model, fitted by maximum likelihood",
  mixture: "Synthetic rows from a mixture, with noise",
  classify: "A classifier, with noise",
  mcmc: "Bayesian estimates by confidential chains",
  describe: "Tables, means and tests",
  glm: "A regression",
  survival: "Survival curves or Cox's model",
  meta: "A meta-analysis of each site's own estimate",
  mixed: "A regression with random effects of groups",
  marginals: "Synthetic rows from noisy tables"
};

export const methodWords = (method: string): string => kMethods[method] ?? method;
