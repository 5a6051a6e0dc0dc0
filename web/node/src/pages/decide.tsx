// The steward's decision: approve, with the code that was seen, or reject with a reason. Both take the
// passphrase, which goes to the signer only.
import {useState} from "preact/hooks";
import {post} from "../base/api";
import {useAction} from "../base/live";
import {dayText, listOf, plain, sentence} from "../base/text";
import type {StewardScreen, Study} from "../base/types";
import {Area, Field, Form, PassphraseField, ProblemBox, Submit, Unfold} from "../parts/form";
import {asDeputy, ofWhom, SignerChoice} from "../parts/signer";

interface Props {
  study: Study;
  screen: StewardScreen;
  onDone: (study: Study) => void;
}

// The last second of that day, unless the study ends before.
const endOf = (day: string, latest: string): string | null => {
  const end = `${day}T23:59:59Z`;
  return day === "" || end >= latest ? null : end;
};

// Where two persons have to sign.
function Persons({screen}: {screen: StewardScreen}) {
  if (screen.stewards_needed === 1) return null;
  const others = listOf(screen.may_sign.map(plain)) || "nobody: the steward has named no deputy";
  return (
    <p class="notice">
      {screen.signed_by.length === 0
        ? `Two persons have to sign. It waits for ${others}.`
        : `1 of 2 has signed: ${listOf(screen.signed_by.map(plain))}. It waits for ${others}.`}
    </p>
  );
}

function Approve({study, screen, onDone}: Props) {
  const [passphrase, setPassphrase] = useState("");
  const [minCell, setMinCell] = useState("");
  const [until, setUntil] = useState("");
  const [useless, setUseless] = useState(false);
  const [chosen, setChosen] = useState("");
  const who = screen.may_sign.includes(chosen) ? chosen : (screen.may_sign[0] ?? "");
  const approve = useAction(async () => {
    const end = endOf(until, screen.valid_until);
    try {
      const body = {
        code: screen.code,
        table: screen.table?.digest ?? "",
        passphrase,
        ...asDeputy(who),
        ...(minCell.trim() === "" ? {} : {min_cell: Number(minCell)}),
        ...(end === null ? {} : {valid_until: end}),
        ...(useless ? {accept_useless: true} : {})
      };
      onDone(await post<Study>(`/studies/${study.study}/approve`, body));
    } finally {
      setPassphrase("");
    }
  });
  return (
    <Form onSubmit={() => void approve.run()} label="Approve">
      {screen.useless && (
        <div class="notice warn">
          <strong>The result may be of little use.</strong>
          <p>{sentence(screen.useless)}</p>
          <label class="choice">
            <input
              type="checkbox"
              checked={useless}
              onChange={(event) => setUseless(event.currentTarget.checked)}
            />
            <span>Approve all the same</span>
          </label>
        </div>
      )}
      <Persons screen={screen} />
      {screen.signed_by.length === 0 && (
        <details>
          <summary>Stricter limits</summary>
          <div>
            <Field
              label="Smallest count that may open"
              hint={screen.min_cell === null ? "The study has none." : `The study says ${screen.min_cell}.`}
              type="number"
              min={screen.min_cell ?? 1}
              value={minCell}
              onInput={setMinCell}
            />
            <Field
              label="Valid until the end of (UTC)"
              hint={`Else until ${dayText(screen.valid_until)}.`}
              type="date"
              max={screen.valid_until.slice(0, 10)}
              value={until}
              onInput={setUntil}
            />
          </div>
        </details>
      )}
      <ProblemBox problem={approve.problem} />
      <SignerChoice names={screen.may_sign} value={who} onInput={setChosen} />
      <PassphraseField of={ofWhom(who)} value={passphrase} onInput={setPassphrase} />
      <Submit busy={approve.busy}>Approve</Submit>
    </Form>
  );
}

function Reject({study, screen, onDone}: Props) {
  const [reason, setReason] = useState("");
  // One is enough, whoever has signed.
  const names = [...screen.may_sign, ...screen.signed_by];
  const [chosen, setChosen] = useState("");
  const who = names.includes(chosen) ? chosen : (names[0] ?? "");
  const [passphrase, setPassphrase] = useState("");
  const reject = useAction(async () => {
    try {
      const body = {reason: reason.trim().replace(/\s+/g, " "), passphrase, ...asDeputy(who)};
      onDone(await post<Study>(`/studies/${study.study}/reject`, body));
    } finally {
      setPassphrase("");
    }
  });
  return (
    <Form onSubmit={() => void reject.run()} label="Reject">
      <Area
        label="Reason"
        hint="One line; all parties may read it."
        required
        maxLength={500}
        value={reason}
        onInput={setReason}
      />
      <ProblemBox problem={reject.problem} />
      <SignerChoice names={names} value={who} onInput={setChosen} />
      <PassphraseField of={ofWhom(who)} value={passphrase} onInput={setPassphrase} />
      <Submit busy={reject.busy} tone="danger">
        Reject
      </Submit>
    </Form>
  );
}

export function Decide(props: Props & {signer: boolean}) {
  if (!props.signer) {
    return (
      <section class="decide" aria-labelledby="decide">
        <h2 id="decide">Your decision</h2>
        <p>
          No signer is at hand, so nothing is signed in this page. At the terminal:{" "}
          <code>partita node approve {props.study.study.slice(0, 12)}</code>
        </p>
      </section>
    );
  }
  if (!props.screen.can_approve) {
    return (
      <section class="decide" aria-labelledby="decide">
        <h2 id="decide">Your decision</h2>
        <p>{sentence(props.screen.why_not || "There is nothing to approve yet")}</p>
        <Unfold label="Reject …" tone="danger">
          {() => <Reject {...props} />}
        </Unfold>
      </section>
    );
  }
  return (
    <section class="decide" aria-labelledby="decide">
      <h2 id="decide">Your decision</h2>
      <Approve {...props} />
      <hr />
      <Unfold label="Reject …" tone="danger">
        {() => <Reject {...props} />}
      </Unfold>
    </section>
  );
}
