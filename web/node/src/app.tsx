import {useEffect, useState} from "preact/hooks";
import {call, Problem} from "./base/api";
import {LogIn, News, useLoaded, useNews} from "./base/live";
import {may} from "./base/roles";
import {placeOf, useFragment, type Place} from "./base/router";
import {currentEntry, onEntry, setEntry, type Entry} from "./base/session";
import type {Session, SetUp} from "./base/types";
import {Frame} from "./parts/frame";
import {Head, Site} from "./parts/page";
import {AccountsPage} from "./pages/accounts";
import {AuditPage} from "./pages/audit";
import {DictionaryPage} from "./pages/dictionary";
import {countOf, Inbox, loadWaits} from "./pages/inbox";
import {Login} from "./pages/login";
import {NewStudy} from "./pages/new_study";
import {NodePage} from "./pages/node";
import {PairingPage} from "./pages/pairing";
import {PartiesPage} from "./pages/parties";
import {PoliciesPage} from "./pages/policies";
import {SetUpPage} from "./pages/setup";
import {StudiesPage} from "./pages/studies";
import {StudyPage} from "./pages/study";
import {TablesPage} from "./pages/tables";

// Whether there is a session from before; else whether there is an account at all.
async function begin(): Promise<void> {
  try {
    setEntry({kind: "in", session: await call<Session>("GET", "/session", {quiet: true})});
    return;
  } catch (error) {
    if (!(error instanceof Problem) || error.code !== "login-needed") {
      setEntry({kind: "unreachable"});
      return;
    }
  }
  try {
    const setup = await call<SetUp>("GET", "/setup", {quiet: true});
    setEntry({kind: setup.needed ? "setup" : "login", setup});
  } catch {
    setEntry({kind: "unreachable"});
  }
}

function useEntry(): Entry {
  const [entry, show] = useState(currentEntry());
  useEffect(() => {
    show(currentEntry());
    return onEntry(() => show(currentEntry()));
  }, []);
  return entry;
}

const Refused = () => (
  <>
    <Head title="Not for this account" />
    <p>
      Your role does not come here. <a href="#/">Inbox</a>
    </p>
  </>
);

function Page({place, session}: {place: Place; session: Session}) {
  const {role} = session;
  switch (place.page) {
    case "inbox":
      return <Inbox role={role} />;
    case "studies":
      return <StudiesPage role={role} />;
    case "new-study":
      return may(role, "check") ? <NewStudy own={session.node} propose={may(role, "propose")} /> : <Refused />;
    case "study":
      return <StudyPage key={place.study} id={place.study} session={session} />;
    case "tables":
      return <TablesPage role={role} />;
    case "dictionary":
      return may(role, "describe") ? <DictionaryPage key={place.table} name={place.table} /> : <Refused />;
    case "policies":
      return may(role, "read-policies") ? <PoliciesPage role={role} /> : <Refused />;
    case "parties":
      return <PartiesPage role={role} />;
    case "pairing":
      return may(role, "read-pairings") ? (
        <PairingPage key={place.number} number={place.number} role={role} />
      ) : (
        <Refused />
      );
    case "audit":
      return may(role, "read-audit") ? <AuditPage key={place.study} study={place.study} /> : <Refused />;
    case "accounts":
      return <AccountsPage session={session} />;
    case "node":
      return <NodePage role={role} />;
    case "nowhere":
      return (
        <>
          <Head title="There is no such page" />
          <p>
            <a href="#/">Inbox</a>
          </p>
        </>
      );
  }
}

function Framed({session, place, lost}: {session: Session; place: Place; lost: boolean}) {
  // Counted for the bar; a problem shows in the pages themselves.
  const waits = useLoaded("waits", loadWaits).value;
  return (
    <Frame session={session} place={place} lost={lost} waits={waits ? countOf(waits, session.role) : 0}>
      <Page key={place.page} place={place} session={session} />
    </Frame>
  );
}

// Unseen while its session has ended, with all that was typed; another account begins anew.
function LoggedIn({session, ended}: {session: Session; ended: boolean}) {
  const fragment = useFragment();
  const [lost, setLost] = useState(false);
  const tag = useNews(!ended, setLost);
  return (
    <News.Provider value={tag}>
      <LogIn.Provider value={session.csrf}>
        <div hidden={ended}>
          <Framed session={session} place={placeOf(fragment)} lost={lost} />
        </div>
        {ended && <Login node={session.node} ended={session} />}
      </LogIn.Provider>
    </News.Provider>
  );
}

export function App() {
  const entry = useEntry();
  useEffect(() => void begin(), []);
  switch (entry.kind) {
    case "loading":
      return (
        <main class="narrow">
          <p class="faint">Loading …</p>
        </main>
      );
    case "unreachable":
      return (
        <main class="narrow">
          <Head title="The node does not answer" />
          <p>Is it running, and is the network there?</p>
          <p class="buttons">
            <button type="button" class="main" onClick={() => void begin()}>
              Try again
            </button>
          </p>
        </main>
      );
    case "setup":
      return <SetUpPage setup={entry.setup} />;
    case "login":
      return <Login node={entry.setup.node} />;
    case "in":
    case "ended": {
      const {session} = entry;
      return (
        <Site.Provider value={session.node}>
          <LoggedIn key={`${session.name} ${session.role}`} session={session} ended={entry.kind === "ended"} />
        </Site.Provider>
      );
    }
  }
}
