// How the node is; the emergency stop.
import {useState} from "preact/hooks";
import {call, get} from "../base/api";
import {useAction, useLoaded} from "../base/live";
import {may} from "../base/roles";
import type {Node, Role} from "../base/types";
import {areClosed, TablesClosed} from "../parts/closed";
import {Form, PassphraseField, ProblemBox, Submit, Unfold} from "../parts/form";
import {Head, Waiting} from "../parts/page";
import {Day, Fingerprint, Said, Tag} from "../parts/words";

function Stop({onDone}: {onDone: () => void}) {
  const stop = useAction(async () => {
    await call<void>("POST", "/node/stop", {body: {}});
    onDone();
  });
  return (
    <Form onSubmit={() => void stop.run()} label="Emergency stop">
      <p>
        Runs are ended, no study starts, the other sites are told. Only the steward, with the passphrase, lets
        the node go on.
      </p>
      <ProblemBox problem={stop.problem} />
      <Submit busy={stop.busy} tone="danger">
        Stop everything now
      </Submit>
    </Form>
  );
}

function GoOn({onDone}: {onDone: () => void}) {
  const [passphrase, setPassphrase] = useState("");
  const goOn = useAction(async () => {
    try {
      await call<void>("POST", "/node/go-on", {body: {passphrase}});
      onDone();
    } finally {
      setPassphrase("");
    }
  });
  return (
    <Form onSubmit={() => void goOn.run()} label="Go on">
      <ProblemBox problem={goOn.problem} />
      <PassphraseField value={passphrase} onInput={setPassphrase} />
      <Submit busy={goOn.busy}>Let the node go on</Submit>
    </Form>
  );
}

export function NodePage({role}: {role: Role}) {
  const {value, problem, reload} = useLoaded("node", (cause) => get<Node>("/node", cause));
  const [said, setSaid] = useState("");
  if (!value) {
    return (
      <>
        <Head title="Node" />
        <Waiting problem={problem} retry={reload} />
      </>
    );
  }
  const done = (what: string) => {
    setSaid(what);
    reload();
    document.querySelector<HTMLElement>("h1")?.focus();
  };
  return (
    <>
      <Head title={`The node of ${value.name}`}>
        {value.stopped ? (
          <Tag tone="danger">stopped</Tag>
        ) : value.draining ? (
          <Tag tone="warn">draining</Tag>
        ) : areClosed(value) ? (
          <Tag tone="danger">tables closed</Tag>
        ) : (
          <Tag tone="good">in service</Tag>
        )}
      </Head>
      <p role="status" class={said ? "notice good" : "unseen"}>
        {said}
      </p>
      {value.stopped && (
        <section>
          <div class="notice danger">
            <strong>Everything is stopped here.</strong>
            <p>No study starts until the steward lets the node go on.</p>
          </div>
          {may(role, "decide") && <GoOn onDone={() => done("The node goes on.")} />}
        </section>
      )}
      <TablesClosed node={value} whole />
      {value.draining && (
        <div class="notice warn">
          <strong>No run begins here.</strong>
          <p>The node is about to be restarted; studies and approvals go on.</p>
        </div>
      )}
      {!value.signer && (
        <div class="notice warn">
          <strong>No signer is at hand.</strong>
          <p>
            Nothing can be signed in these pages. Start <code>partita node sign</code>, or sign at the
            terminal.
          </p>
        </div>
      )}
      <section>
        <h2>State</h2>
        <dl class="facts">
          <dt>Address for other nodes</dt>
          <dd>
            <Said text={value.address} />
          </dd>
          <dt>Open studies</dt>
          <dd>{value.open_studies}</dd>
          <dt>Runs that go on</dt>
          <dd>{value.runs}</dd>
          <dt>Parties</dt>
          <dd>{value.parties}</dd>
          <dt>Introductions that wait</dt>
          <dd>{value.waiting_introductions}</dd>
          <dt>Open invitations</dt>
          <dd>{value.open_invitations}</dd>
          {value.restored && !value.restored.closed && (
            <>
              <dt>Restored from a backup</dt>
              <dd>
                <Day at={value.restored.time} />: policies from before do not count any more, nor accounts that the steward
                did not keep
              </dd>
            </>
          )}
          <dt>Signer</dt>
          <dd>{value.signer ? "at hand" : "not at hand"}</dd>
          <dt>Version of Partita</dt>
          <dd>{value.version}</dd>
          <dt>Node key</dt>
          <dd>
            <Fingerprint value={value.fingerprint} />
          </dd>
          <dt>Steward's key</dt>
          <dd>
            <Fingerprint value={value.steward} />
          </dd>
        </dl>
      </section>
      {may(role, "stop") && !value.stopped && (
        <section class="no-print">
          <h2>Emergency stop</h2>
          <Unfold label="Stop everything …" tone="danger">
            {() => <Stop onDone={() => done("Stopped.")} />}
          </Unfold>
        </section>
      )}
    </>
  );
}
