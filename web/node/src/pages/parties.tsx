// The other sites: who is known, how, by which keys; invitations and introductions.
import {useState} from "preact/hooks";
import {get, post} from "../base/api";
import {useAction, useLoaded, useOnceKey} from "../base/live";
import {may} from "../base/roles";
import {go} from "../base/router";
import {count, listOf, plain} from "../base/text";
import type {Introduction, Invitation, Pairing, PairingState, Parties, Party, Role} from "../base/types";
import {Field, Form, ProblemBox, Submit, Unfold} from "../parts/form";
import {Head, Waiting} from "../parts/page";
import {Sign} from "../parts/sign";
import {Day, Fingerprint, Said, Tag, When} from "../parts/words";

function Keys({node, steward}: {node: string; steward: string}) {
  return (
    <details class="small">
      <summary>Keys</summary>
      <dl class="facts">
        <dt>Node key</dt>
        <dd>
          <Fingerprint value={node} />
        </dd>
        <dt>Steward's key</dt>
        <dd>
          <Fingerprint value={steward} />
        </dd>
      </dl>
    </details>
  );
}

function PartyCard({party, signs, onDone}: {party: Party; signs: boolean; onDone: (parties: Parties) => void}) {
  return (
    <li class="card">
      <div class="line">
        <h3>
          <Said text={party.name} />
        </h3>
        {party.revoked ? (
          <Tag tone="danger">revoked</Tag>
        ) : party.known === "digits" ? (
          <Tag tone="good">digits compared</Tag>
        ) : (
          <Tag tone="warn">introduced</Tag>
        )}
      </div>
      <p class="faint">
        <Said text={party.address} or="no address" />
      </p>
      <p>
        {party.revoked ? (
          <>
            Its key was revoked on <Day at={party.revoked} />. It does not count.
          </>
        ) : party.known === "digits" ? (
          <>
            Known since <Day at={party.since} />: both sites compared digits by telephone.
          </>
        ) : (
          <>
            Accepted on <Day at={party.since} /> on the word of {listOf(party.introducers.map(plain))}. It
            could be {plain(party.introducers[0] ?? "the introducer")} under a second key.
          </>
        )}
      </p>
      <Keys node={party.node_key} steward={party.steward_key} />
      {signs && !party.revoked && (
        <Unfold label={`Revoke ${plain(party.name)} …`} tone="plain">
          {() => (
            <>
              <p>
                Do this if its key was stolen or you do not trust it any more. It takes part in no study with
                this site from now on, until you compare digits anew.
              </p>
              <Sign
                path={`/parties/${encodeURIComponent(party.name)}/revoke`}
                label={`Revoke ${plain(party.name)}`}
                tone="danger"
                onDone={onDone}
              />
            </>
          )}
        </Unfold>
      )}
    </li>
  );
}

interface Candidate {
  name: string;
  node_key: string;
  steward_key: string;
  entries: Introduction[];
}

const idOf = ({name, node_key, steward_key}: Introduction | Candidate) => [name, node_key, steward_key].join(" ");

// One card for each name with its keys, with all that introduce it: other keys are another card, and what was
// typed into this one is gone with it.
function candidatesOf(waiting: Introduction[]): Candidate[] {
  const found = new Map<string, Introduction[]>();
  for (const entry of waiting) found.set(idOf(entry), [...(found.get(idOf(entry)) ?? []), entry]);
  return [...found.values()].flatMap((entries) => {
    const [first] = entries;
    return first ? [{name: first.name, node_key: first.node_key, steward_key: first.steward_key, entries}] : [];
  });
}

function IntroducedCard(props: {candidate: Candidate; signs: boolean; onDone: (parties: Parties) => void}) {
  const {name, node_key, steward_key, entries} = props.candidate;
  const introducers = listOf(entries.map((entry) => plain(entry.introducer)));
  return (
    <li class="card">
      <h3>
        <Said text={name} />
      </h3>
      {entries.map((entry) => (
        <div class="stack" key={entry.introducer}>
          <p>
            {plain(entry.introducer)} says: digits compared on <Day at={entry.compared} />, at{" "}
            <Said text={entry.address} or="no address" />
          </p>
        </div>
      ))}
      <Keys node={node_key} steward={steward_key} />
      <p class="notice warn">
        Accepting it trusts the word of {introducers}: it may be {introducers} under a second key. To be
        sure, invite it yourself and compare digits.
      </p>
      {props.signs && (
        <Unfold label={`Accept ${plain(name)} …`}>
          {() => (
            <Sign
              path={`/parties/${encodeURIComponent(name)}/accept`}
              label={`Accept ${plain(name)}`}
              tone="main"
              more={{node_key, steward_key}}
              onDone={props.onDone}
            />
          )}
        </Unfold>
      )}
    </li>
  );
}

function Invite() {
  const [name, setName] = useState("");
  const [made, setMade] = useState<Invitation | null>(null);
  const [copied, setCopied] = useState("");
  const key = useOnceKey();
  const invite = useAction(async () => {
    const body = {name: name.trim()};
    setMade(await post<Invitation>("/invitations", body, key.of(body.name)));
    key.done();
  });
  const copy = async (line: string) => {
    try {
      await navigator.clipboard.writeText(line);
      setCopied("The line is copied.");
    } catch {
      setCopied("The browser did not copy it: select the line and copy it yourself.");
    }
  };
  if (made) {
    return (
      <div class="stack">
        <p>
          Send this line to <Said text={name} />, by mail. It need not be secret; it works once, until{" "}
          <When at={made.expires} />.
        </p>
        <pre class="file" tabIndex={0} role="region" aria-label="Line of the invitation">
          {made.line}
        </pre>
        <p role="status">{copied}</p>
        <div class="buttons">
          <button type="button" onClick={() => void copy(made.line)}>
            Copy the line
          </button>
          <a class="button main" href={`#/pairings/${made.number}`}>
            Go on: compare digits
          </a>
        </div>
      </div>
    );
  }
  return (
    <Form onSubmit={() => void invite.run()} label="Invite a site">
      <ProblemBox problem={invite.problem} />
      <Field
        label="Name of the site"
        hint="As it stands in study files."
        value={name}
        onInput={setName}
        required
        maxLength={64}
        spellCheck={false}
      />
      <Submit busy={invite.busy}>Make a line</Submit>
    </Form>
  );
}

function Join() {
  const [line, setLine] = useState("");
  const key = useOnceKey();
  const join = useAction(async () => {
    const body = {line: line.trim().replace(/\s+/g, " ")};
    const pairing = await post<Pairing>("/pairings", body, key.of(body.line));
    key.done();
    go(`#/pairings/${pairing.number}`);
  });
  return (
    <Form onSubmit={() => void join.run()} label="Join a site">
      <ProblemBox problem={join.problem} />
      <Field
        label="The line that the other site sent"
        hint="It begins with partita-invite-1."
        value={line}
        onInput={setLine}
        required
        maxLength={1024}
        spellCheck={false}
        autoComplete="off"
      />
      <Submit busy={join.busy}>Connect</Submit>
    </Form>
  );
}

const kPairing: Record<PairingState, string> = {
  open: "The line was not used yet.",
  digits: "Digits are to be compared by telephone.",
  sign: "The digits agree; a steward confirms.",
  waiting: "It waits for the other site.",
  met: "Both have confirmed; a steward puts it on the list.",
  over: "It is over."
};

export function PartiesPage({role}: {role: Role}) {
  const {value, problem, reload, put} = useLoaded("parties", (cause) => get<Parties>("/parties", cause));
  const [said, setSaid] = useState("");
  if (!value) {
    return (
      <>
        <Head title="Parties" />
        <Waiting problem={problem} retry={reload} />
      </>
    );
  }
  const signs = may(role, "decide");
  const done = (parties: Parties) => {
    setSaid("The list of parties is signed.");
    put(parties);
    document.querySelector<HTMLElement>("h1")?.focus();
  };
  const open = value.pairings.filter(({state}) => state !== "over");
  return (
    <>
      <Head title="Parties" kicker="The sites that this one does studies with" />
      <p role="status" class={said ? "notice good" : "unseen"}>
        {said}
      </p>
      {value.waiting.length > 0 && (
        <section>
          <h2>Introduced, not accepted</h2>
          <ul class="cards">
            {candidatesOf(value.waiting).map((candidate) => (
              <IntroducedCard key={idOf(candidate)} candidate={candidate} signs={signs} onDone={done} />
            ))}
          </ul>
        </section>
      )}
      {open.length > 0 && (
        <section>
          <h2>Invitations under way</h2>
          <ul class="cards">
            {open.map((pairing) => (
              <li key={pairing.number} class={`card ${may(role, "read-pairings") ? "link" : ""}`}>
                <h3>
                  {may(role, "read-pairings") ? (
                    <a href={`#/pairings/${pairing.number}`}>
                      <Said text={pairing.name || "a site whose name is not known yet"} />
                    </a>
                  ) : (
                    <Said text={pairing.name} or="a site whose name is not known yet" />
                  )}
                </h3>
                <p>{kPairing[pairing.state]}</p>
              </li>
            ))}
          </ul>
        </section>
      )}
      <section>
        <h2>
          {value.parties.length ? count(value.parties.length, "party", "parties") : "No parties yet"}
        </h2>
        {value.parties.length === 0 && <p>Invite a site, or take the invitation of one.</p>}
        <ul class="cards">
          {value.parties.map((party) => (
            <PartyCard key={party.name} party={party} signs={signs} onDone={done} />
          ))}
        </ul>
      </section>
      {may(role, "pair") && (
        <div class="halves no-print">
          <section>
            <h2>Invite a site</h2>
            <Invite />
          </section>
          <section>
            <h2>Take an invitation</h2>
            <Join />
          </section>
        </div>
      )}
    </>
  );
}
