// The head of a page: its title gets the focus when somebody comes here, so that a screen reader says it.
import {createContext, type ComponentChildren} from "preact";
import {useContext, useEffect, useRef} from "preact/hooks";
import type {Problem} from "../base/api";
import {plain} from "../base/text";
import {ProblemBox} from "./form";

export const Site = createContext("");

// Whoever opens the page begins at its top, with the link past the bar.
let opened = false;

export function Head(props: {
  title: string;
  kicker?: ComponentChildren;
  children?: ComponentChildren;
}) {
  const heading = useRef<HTMLHeadingElement>(null);
  const site = useContext(Site);
  const title = plain(props.title);
  useEffect(() => {
    document.title = site ? `${title} - Partita at ${site}` : `${title} - Partita`;
  }, [title, site]);
  useEffect(() => {
    if (opened) heading.current?.focus({preventScroll: true});
    opened = true;
    scrollTo({top: 0, behavior: "instant"});
  }, []);
  return (
    <div class="head">
      <div>
        {props.kicker !== undefined && <p class="kicker">{props.kicker}</p>}
        <h1 tabIndex={-1} ref={heading}>
          <bdi>{title}</bdi>
        </h1>
      </div>
      {props.children}
    </div>
  );
}

// While something is on its way, or instead of it.
export function Waiting({problem, retry}: {problem: Problem | null; retry?: () => void}) {
  if (!problem) return <p class="faint">Loading …</p>;
  return (
    <>
      <ProblemBox problem={problem} />
      {retry && (
        <button type="button" onClick={retry}>
          Try again
        </button>
      )}
    </>
  );
}
