// What waits for whoever is logged in.
import {get, type Cause} from "../base/api";
import {useLoaded} from "../base/live";
import {may} from "../base/roles";
import {count, plain} from "../base/text";
import type {Node, Parties, PairingState, Role, Studies} from "../base/types";
import {areClosed, TablesClosed} from "../parts/closed";
import {Head, Waiting} from "../parts/page";
import {StudyCard} from "../parts/study_card";
import {Said} from "../parts/words";

export interface Waits {
  node: Node;
  studies: Studies;
  parties: Parties;
}

export const loadWaits = async (cause: Cause): Promise<Waits> => {
  const [node, studies, parties] = await Promise.all([
    get<Node>("/node", cause),
    get<Studies>("/studies?state=open&limit=100", cause),
    get<Parties>("/parties", cause)
  ]);
  return {node, studies, parties};
};

const kPairing: Partial<Record<PairingState, string>> = {
  digits: "The digits are to be compared by telephone.",
  sign: "The digits agree. A steward confirms.",
  met: "Both sites have confirmed. A steward puts it on the list."
};

// Of pairings: what this role can do something about.
export const pairingsOf = (parties: Parties, role: Role) =>
  parties.pairings.filter(
    ({state}) =>
      (state === "digits" && may(role, "pair")) ||
      ((state === "sign" || state === "met") && may(role, "decide"))
  );

export function countOf(waits: Waits, role: Role): number {
  let sum = pairingsOf(waits.parties, role).length;
  if (may(role, "decide")) {
    sum += waits.studies.studies.filter((study) => study.needs_decision).length;
    sum += waits.parties.waiting.length;
  }
  if (waits.node.stopped && may(role, "stop")) ++sum;
  if (areClosed(waits.node) && may(role, "decide")) ++sum;
  return sum;
}

export function Inbox({role}: {role: Role}) {
  const {value, problem, reload} = useLoaded("inbox", loadWaits);
  const head = <Head title="Inbox" kicker="What waits for you" />;
  if (!value) {
    return (
      <>
        {head}
        <Waiting problem={problem} retry={reload} />
      </>
    );
  }
  const {node, studies, parties} = value;
  const decisions = may(role, "decide") ? studies.studies.filter((study) => study.needs_decision) : [];
  // Of which the node has no table yet, or cannot read it: the study's page says why.
  const held = may(role, "decide")
    ? studies.studies.filter(
        ({state, needs_decision, approved}) =>
          state === "settled" && !needs_decision && !approved.includes(node.name)
      )
    : [];
  const introductions = may(role, "decide") ? parties.waiting : [];
  const pairings = pairingsOf(parties, role);
  const own = may(role, "propose") ? studies.studies.filter((study) => study.own) : [];
  const others = studies.studies.length - decisions.length - held.length - own.length;
  const nothing =
    !decisions.length && !held.length && !introductions.length && !pairings.length && !own.length;
  return (
    <>
      {head}
      {node.stopped && (
        <div class="notice danger">
          <strong>Everything is stopped here.</strong>
          <p>
            No study starts until the steward lets the node go on. <a href="#/node">See the node</a>.
          </p>
        </div>
      )}
      <TablesClosed node={node} />
      {nothing && !node.stopped && !areClosed(node) && <p class="notice good">Nothing waits for you.</p>}
      {decisions.length > 0 && (
        <section>
          <h2>{count(decisions.length, "study waits", "studies wait")} for your decision</h2>
          <ul class="cards">
            {decisions.map((study) => (
              <StudyCard key={study.study} study={study} />
            ))}
          </ul>
        </section>
      )}
      {held.length > 0 && (
        <section>
          <h2>{count(held.length, "study cannot", "studies cannot")} be approved here yet</h2>
          <p>The node reads this site's table first. Where it cannot, the page of the study says why.</p>
          <ul class="cards">
            {held.map((study) => (
              <StudyCard key={study.study} study={study} />
            ))}
          </ul>
        </section>
      )}
      {pairings.length > 0 && (
        <section>
          <h2>Sites to be met</h2>
          <ul class="cards">
            {pairings.map((pairing) => (
              <li class="card link" key={pairing.number}>
                <h3>
                  <a href={`#/pairings/${pairing.number}`}>
                    {pairing.name ? <Said text={pairing.name} /> : "A site whose name is not known yet"}
                  </a>
                </h3>
                <p>{kPairing[pairing.state]}</p>
              </li>
            ))}
          </ul>
        </section>
      )}
      {introductions.length > 0 && (
        <section>
          <h2>Sites that were introduced</h2>
          <ul class="cards">
            {introductions.map((entry) => (
              <li class="card link" key={`${entry.name} ${entry.introducer}`}>
                <h3>
                  <a href="#/parties">
                    <Said text={entry.name} />
                  </a>
                </h3>
                <p>{plain(entry.introducer)} introduces it. You accept it on its word, or never.</p>
              </li>
            ))}
          </ul>
        </section>
      )}
      {own.length > 0 && (
        <section>
          <h2>Studies that you proposed</h2>
          <ul class="cards">
            {own.map((study) => (
              <StudyCard key={study.study} study={study} />
            ))}
          </ul>
        </section>
      )}
      <p class="faint">
        {others > 0
          ? `${count(others, "other study is", "other studies are")} open at this node. `
          : "No other study is open at this node. "}
        <a href="#/studies">All studies</a>
      </p>
      {may(role, "propose") && (
        <p class="buttons">
          <a class="button main" href="#/studies/new">
            New study
          </a>
        </p>
      )}
    </>
  );
}
