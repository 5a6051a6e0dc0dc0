// What is loaded is loaded again when something at the node is new.
import {createContext} from "preact";
import {useCallback, useContext, useEffect, useRef, useState} from "preact/hooks";
import {get, Problem, type Cause} from "./api";
import {currentEntry} from "./session";
import type {Tag} from "./types";

// The tag of what is new at the node. "": the first answer is not here yet.
export const News = createContext("");
// Another text after every login.
export const LogIn = createContext("");

const pause = (seconds: number) => new Promise((done) => setTimeout(done, seconds * 1000));

// Asks for news as long as somebody looks at the page; calls `onLost` with whether the node is gone.
export function useNews(active: boolean, onLost: (lost: boolean) => void): string {
  const [tag, setTag] = useState("");
  const sessions = useRef(0);
  useEffect(() => {
    if (!active) return;
    const stop = new AbortController();
    // After a login all is new: what was asked for in between was refused.
    const session = ++sessions.current;
    let known = "";
    const follow = async () => {
      let wait = 1;
      while (!stop.signal.aborted) {
        if (document.hidden) {
          await new Promise((seen) => document.addEventListener("visibilitychange", seen, {once: true}));
          continue;
        }
        try {
          // After a failure an answer at once says that the node is back.
          const path = known && wait === 1 ? `/events?after=${encodeURIComponent(known)}` : "/events";
          const started = Date.now();
          const news = (await get<Tag>(path, {signal: stop.signal, byItself: true})).tag;
          onLost(false);
          wait = 1;
          if (news !== known) setTag(`${session} ${news}`);
          // A server that answers at once, though nothing is new, is not asked without a pause.
          else if (Date.now() - started < 500) await pause(2);
          known = news;
        } catch (error) {
          if (stop.signal.aborted || currentEntry().kind !== "in") return;
          if (error instanceof Problem && error.code === "unreachable") onLost(true);
          await pause(wait);
          wait = Math.min(5, wait * 2);
        }
      }
    };
    void follow();
    return () => stop.abort();
  }, [active]);
  return tag;
}

export interface Loaded<T> {
  value: T | null;
  problem: Problem | null;
  reload: () => void; // a person asks
  lookAgain: () => void; // the page asks by itself
  put: (value: T) => void; // what an action answered
}

// Loads now, when `key` changes, and when there are news. What was loaded stays until the new is here. Nobody
// clicked for what news and timers load: it does not keep the session from ending.
export function useLoaded<T>(key: string, load: (cause: Cause & {signal: AbortSignal}) => Promise<T>): Loaded<T> {
  const news = useContext(News);
  const [state, setState] = useState<{key: string; value: T | null; problem: Problem | null}>({
    key,
    value: null,
    problem: null
  });
  const [again, setAgain] = useState({times: 0, byItself: false});
  const before = useRef<{key: string; again: {byItself: boolean}} | null>(null);
  const latest = useRef(load);
  latest.current = load;
  useEffect(() => {
    const stop = new AbortController();
    const last = before.current;
    const byItself = last?.key === key && (last.again === again || again.byItself);
    before.current = {key, again};
    latest.current({signal: stop.signal, byItself}).then(
      (value) => {
        if (!stop.signal.aborted) setState({key, value, problem: null});
      },
      (error: unknown) => {
        if (stop.signal.aborted) return;
        const problem =
          error instanceof Problem ? error : new Problem("internal", String(error), "", 0);
        if (problem.code === "login-needed") return;
        setState((before) => ({key, value: before.key === key ? before.value : null, problem}));
      }
    );
    return () => stop.abort();
  }, [key, news, again]);
  const reload = useCallback(() => setAgain(({times}) => ({times: times + 1, byItself: false})), []);
  const lookAgain = useCallback(() => setAgain(({times}) => ({times: times + 1, byItself: true})), []);
  const put = useCallback((value: T) => setState({key, value, problem: null}), [key]);
  const here = state.key === key;
  return {value: here ? state.value : null, problem: here ? state.problem : null, reload, lookAgain, put};
}

export interface Action<A extends unknown[]> {
  run: (...args: A) => Promise<boolean>; // whether it went well
  busy: boolean;
  problem: Problem | null;
  clear: () => void;
}

// Something that a person asked for: one at a time, its problem shown beside it.
export function useAction<A extends unknown[]>(act: (...args: A) => Promise<void>): Action<A> {
  const [busy, setBusy] = useState(false);
  const [problem, setProblem] = useState<Problem | null>(null);
  const running = useRef(false);
  const run = async (...args: A): Promise<boolean> => {
    if (running.current) return false;
    running.current = true;
    setBusy(true);
    setProblem(null);
    try {
      await act(...args);
      return true;
    } catch (error) {
      if (!(error instanceof Problem)) throw error;
      if (error.code !== "login-needed") setProblem(error);
      return false;
    } finally {
      running.current = false;
      setBusy(false);
    }
  };
  return {run, busy, problem, clear: () => setProblem(null)};
}

// A key for what a form asks for, the same until it is done: asking twice does it once.
export function useOnceKey(): {of: (what: string) => string; done: () => void} {
  const kept = useRef<{what: string; key: string} | null>(null);
  return {
    of: (what) => {
      if (kept.current?.what !== what) {
        const bytes = crypto.getRandomValues(new Uint8Array(16));
        const key = [...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join("");
        kept.current = {what, key};
      }
      return kept.current.key;
    },
    done: () => {
      kept.current = null;
    }
  };
}
