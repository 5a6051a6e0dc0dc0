// Requests to the node's API. A session that ended shows the login; what was typed stays.
import type {Error as ApiError} from "./types";
import {csrf, endSession} from "./session";

// What went wrong, to be shown as text: one sentence, and what to do about it.
export class Problem extends Error {
  constructor(
    readonly code: ApiError["code"],
    message: string,
    readonly hint: string,
    readonly wait: number // seconds until it is worth another try; 0: not told
  ) {
    super(message);
  }
}

export type Method = "GET" | "POST" | "DELETE";

export interface Options {
  body?: unknown;
  key?: string; // Idempotency-Key
  signal?: AbortSignal;
  quiet?: boolean; // a missing session is an answer here
  byItself?: boolean; // no person asked for it: the session may end meanwhile
}

const isError = (value: unknown): value is ApiError =>
  typeof value === "object" &&
  value !== null &&
  typeof (value as ApiError).code === "string" &&
  typeof (value as ApiError).message === "string";

async function problemOf(response: Response): Promise<Problem> {
  const wait = Number(response.headers.get("Retry-After") ?? 0) || 0;
  let said: unknown;
  try {
    said = await response.json();
  } catch {
    said = null;
  }
  if (isError(said)) return new Problem(said.code, said.message, said.hint ?? "", wait);
  return new Problem(
    "internal",
    `the node answered with the status ${response.status}`,
    "Try again; if it stays so, ask who operates the node.",
    wait
  );
}

export async function call<T>(method: Method, path: string, options: Options = {}): Promise<T> {
  const headers: Record<string, string> = {};
  if (options.body !== undefined) headers["Content-Type"] = "application/json";
  if (options.key) headers["Idempotency-Key"] = options.key;
  if (options.byItself) headers["Partita-By-Itself"] = "1";
  const token = csrf();
  if (method !== "GET" && token) headers["Partita-Csrf"] = token;
  let response: Response;
  try {
    response = await fetch(`/api/v1${path}`, {
      method,
      headers,
      credentials: "same-origin",
      cache: "no-store",
      redirect: "error",
      ...(options.body === undefined ? {} : {body: JSON.stringify(options.body)}),
      ...(options.signal ? {signal: options.signal} : {})
    });
  } catch (error) {
    if (options.signal?.aborted) throw error;
    throw new Problem(
      "unreachable",
      "the node does not answer",
      "Is it running, and is the network there? Nothing that you typed is lost; try again.",
      0
    );
  }
  if (response.status === 204) return undefined as T;
  if (response.ok) {
    try {
      return (await response.json()) as T;
    } catch {
      throw new Problem("internal", "the node's answer cannot be read", "Try again.", 0);
    }
  }
  const problem = await problemOf(response);
  if (response.status === 401 && problem.code === "login-needed" && !options.quiet) endSession();
  throw problem;
}

// What loads something for the page: a signal to stop it, and whether a person asked.
export interface Cause {
  signal?: AbortSignal;
  byItself?: boolean;
}

export const get = <T>(path: string, cause: Cause = {}) => call<T>("GET", path, cause);
export const post = <T>(path: string, body: unknown, key?: string) =>
  call<T>("POST", path, key ? {body, key} : {body});
