// Two sites meet: digits by telephone, the stewards' words, the list of parties.
import {useEffect, useState} from "preact/hooks";
import {get, post} from "../base/api";
import {useAction, useLoaded} from "../base/live";
import {may} from "../base/roles";
import {groups, plain} from "../base/text";
import type {Pairing, Parties, Role} from "../base/types";
import {Field, Form, PassphraseField, ProblemBox, Submit} from "../parts/form";
import {Head, Waiting} from "../parts/page";
import {Fingerprint, Said} from "../parts/words";

const kLookAgain = 2000; // ms: the other site's steps are no news of this node

function Digits({pairing, onDone}: {pairing: Pairing; onDone: (pairing: Pairing) => void}) {
  const [digits, setDigits] = useState("");
  const enter = useAction(async () => {
    onDone(await post<Pairing>(`/pairings/${pairing.number}/digits`, {digits}));
  });
  const name = plain(pairing.name) || "the other site";
  return (
    <>
      <div class="notice danger">
        <strong>Call {name} at a number that you knew before.</strong>
        <p>Never type digits for somebody who calls you.</p>
      </div>
      <section>
        <h2>1. Read these out</h2>
        <p class="spoken">{groups(plain(pairing.shown), 3).join(" ")}</p>
      </section>
      <section>
        <h2>2. Type what they read out</h2>
        <p class="faint">One try: if the digits differ, the line is used up.</p>
        <ProblemBox problem={enter.problem} />
        <Form onSubmit={() => void enter.run()} label="Digits">
          <Field
            label={`Digits of ${name}`}
            value={digits}
            onInput={setDigits}
            inputMode="numeric"
            autoComplete="off"
            pattern="\s*[0-9]{3}\s*[0-9]{3}\s*"
            required
            maxLength={16}
            class="digits"
          />
          <Submit busy={enter.busy}>Compare</Submit>
        </Form>
      </section>
    </>
  );
}

// What a steward signs. In state `met` the signer may still know the steward's word; if not, it asks anew.
function Confirm(props: {pairing: Pairing; label: string; asks: boolean; onDone: (pairing: Pairing) => void}) {
  const [passphrase, setPassphrase] = useState("");
  const [asks, setAsks] = useState(props.asks);
  const confirm = useAction(async () => {
    try {
      const body = asks ? {passphrase} : {};
      props.onDone(await post<Pairing>(`/pairings/${props.pairing.number}/confirm`, body));
    } catch (error) {
      setAsks(true);
      throw error;
    } finally {
      setPassphrase("");
    }
  });
  return (
    <Form onSubmit={() => void confirm.run()} label={props.label}>
      <ProblemBox problem={confirm.problem} />
      {asks && <PassphraseField value={passphrase} onInput={setPassphrase} />}
      <Submit busy={confirm.busy}>{props.label}</Submit>
    </Form>
  );
}

function Met({pairing}: {pairing: Pairing}) {
  if (!pairing.party) return null;
  return (
    <dl class="facts">
      <dt>Site</dt>
      <dd>
        <Said text={pairing.party.name} />
      </dd>
      <dt>Address</dt>
      <dd>
        <Said text={pairing.party.address} />
        {pairing.reach && (
          <span class="faint">
            {" "}
            ({pairing.reach === "reached" ? "this node reached it" : plain(pairing.reach)})
          </span>
        )}
      </dd>
      <dt>Node key</dt>
      <dd>
        <Fingerprint value={pairing.party.node_key} />
      </dd>
      <dt>Steward's key</dt>
      <dd>
        <Fingerprint value={pairing.party.steward_key} />
      </dd>
    </dl>
  );
}

// Whether it went well is in the list of parties, also when the node does not keep the pairing any more.
function Over({pairing}: {pairing: Pairing}) {
  const {value, problem, reload} = useLoaded("parties", (cause) => get<Parties>("/parties", cause));
  if (!value) return <Waiting problem={problem} retry={reload} />;
  const name = plain(pairing.name);
  const listed = pairing.listed || value.parties.some((party) => party.name === pairing.name && !party.revoked);
  return (
    <>
      {listed ? (
        <p class="notice good">{name} is a party of this site.</p>
      ) : (
        <div class="notice danger">
          <strong>{name || "The other site"} is no party of this site.</strong>
          <p>
            The digits differed, or it took too long; the line is used up. Invite anew. If it happens again
            although both typed what they heard, somebody may be in between.
          </p>
        </div>
      )}
      <p>
        <a href="#/parties">Parties</a>
      </p>
    </>
  );
}

function Step({pairing, role, put}: {pairing: Pairing; role: Role; put: (pairing: Pairing) => void}) {
  const name = plain(pairing.name) || "the other site";
  switch (pairing.state) {
    case "open":
      return <p class="lead">{name} has not come yet. This page goes on by itself when it does.</p>;
    case "digits":
      return may(role, "pair") ? (
        <Digits pairing={pairing} onDone={put} />
      ) : (
        <p class="lead">A steward or operator compares digits now.</p>
      );
    case "sign":
      return (
        <>
          <p class="notice good">The digits that were typed here agree.</p>
          {may(role, "decide") ? (
            <Confirm key="sign" pairing={pairing} label={`Confirm ${name}`} asks onDone={put} />
          ) : (
            <p class="lead">A steward confirms it now.</p>
          )}
        </>
      );
    case "waiting":
      return <p class="lead">Confirmed here. It waits until a steward of {name} confirms, too.</p>;
    case "met":
      return pairing.listed ? (
        <Over pairing={pairing} />
      ) : (
        <>
          <p class="notice good">Both sites have confirmed.</p>
          <Met pairing={pairing} />
          {may(role, "decide") ? (
            <Confirm key="met" pairing={pairing} label={`Put ${name} on the list`} asks={false} onDone={put} />
          ) : (
            <p class="lead">A steward puts it on the list of parties now.</p>
          )}
        </>
      );
    case "over":
      return <Over pairing={pairing} />;
  }
}

export function PairingPage({number, role}: {number: string; role: Role}) {
  const {value, problem, reload, lookAgain, put} = useLoaded(`pairing ${number}`, (cause) =>
    get<Pairing>(`/pairings/${number}`, cause)
  );
  const moves = value && (value.state === "open" || value.state === "waiting" || value.state === "met");
  useEffect(() => {
    if (!moves) return;
    const timer = setInterval(() => {
      if (!document.hidden) lookAgain();
    }, kLookAgain);
    return () => clearInterval(timer);
  }, [moves, lookAgain]);
  return (
    <>
      <Head
        title={value?.name ? `Meet ${value.name}` : "Meet a site"}
        kicker={value ? (value.role === "inviter" ? "You invited it" : "It invited you") : "Invitation"}
      />
      {value ? (
        <div aria-live="polite">
          <Step pairing={value} role={role} put={put} />
        </div>
      ) : (
        <Waiting problem={problem} retry={reload} />
      )}
    </>
  );
}
