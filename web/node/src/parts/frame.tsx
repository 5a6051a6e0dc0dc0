// What stands around every page: the bar with the places that this role may go to.
import type {ComponentChildren} from "preact";
import {call} from "../base/api";
import {useAction} from "../base/live";
import {may, type Act} from "../base/roles";
import {go, type Place} from "../base/router";
import {setEntry} from "../base/session";
import {plain} from "../base/text";
import type {Session} from "../base/types";
import {ProblemBox} from "./form";

interface Link {
  page: Place["page"];
  under: Array<Place["page"]>;
  href: string;
  label: string;
  needs?: Act;
}

const kPlaces: Link[] = [
  {page: "inbox", under: [], href: "#/", label: "Inbox"},
  {page: "studies", under: ["study", "new-study"], href: "#/studies", label: "Studies"},
  {page: "tables", under: ["dictionary"], href: "#/tables", label: "Tables"},
  {page: "policies", under: [], href: "#/policies", label: "Policies", needs: "read-policies"},
  {page: "parties", under: ["pairing"], href: "#/parties", label: "Parties"},
  {page: "audit", under: [], href: "#/audit", label: "Audit", needs: "read-audit"},
  {page: "accounts", under: [], href: "#/accounts", label: "Accounts"},
  {page: "node", under: [], href: "#/node", label: "Node"}
];

export function Frame(props: {
  session: Session;
  place: Place;
  waits: number;
  lost: boolean;
  children: ComponentChildren;
}) {
  const {session, place, waits, lost, children} = props;
  const logout = useAction(async () => {
    await call<void>("DELETE", "/session");
    go("#/");
    setEntry({kind: "login", setup: {needed: false, here: false, node: session.node}});
  });
  return (
    <>
      <a
        class="skip"
        href="#main"
        onClick={(event) => {
          // The address stays: fragments are places here.
          event.preventDefault();
          document.getElementById("main")?.focus();
        }}
      >
        To the content
      </a>
      <header class="bar">
        <p class="site">
          <span class="faint">Partita at </span>
          <bdi>{plain(session.node)}</bdi>
        </p>
        <nav aria-label="Pages">
          <ul>
            {kPlaces.filter(({needs}) => !needs || may(session.role, needs)).map(({page, under, href, label}) => (
              <li key={page}>
                <a
                  href={href}
                  aria-current={place.page === page ? "page" : under.includes(place.page) ? "true" : undefined}
                >
                  {label}
                  {page === "inbox" && waits > 0 && (
                    <span class="count">
                      {waits}
                      <span class="unseen"> waiting</span>
                    </span>
                  )}
                </a>
              </li>
            ))}
          </ul>
        </nav>
        <div class="who">
          <span>
            {session.name}, {session.role}
          </span>
          <button type="button" class="plain" onClick={() => void logout.run()}>
            Log out
          </button>
        </div>
      </header>
      <main id="main" tabIndex={-1}>
        <div role="status">
          {lost && (
            <p class="notice warn">
              <strong>The node does not answer.</strong>
              This page tries again by itself; what you typed stays.
            </p>
          )}
        </div>
        <ProblemBox problem={logout.problem} />
        {children}
      </main>
      <footer>
        <a href="/licences.txt">Licences</a>
      </footer>
    </>
  );
}
