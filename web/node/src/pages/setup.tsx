import {useState} from "preact/hooks";
import {call} from "../base/api";
import {useAction} from "../base/live";
import {setEntry} from "../base/session";
import type {Session, SetUp} from "../base/types";
import {Choice, Field, Form, ProblemBox, Submit} from "../parts/form";
import {Head} from "../parts/page";

export const kPasswordHint = "At least 12 characters; several words are easy to remember.";

export function SetUpPage({setup}: {setup: SetUp}) {
  const [code, setCode] = useState("");
  const [name, setName] = useState("");
  const [role, setRole] = useState<"steward" | "operator">("operator");
  const [password, setPassword] = useState("");
  const [again, setAgain] = useState("");
  const [differ, setDiffer] = useState(false);
  const make = useAction(async () => {
    const body = {code: code.trim(), name: name.trim(), role, password};
    setEntry({kind: "in", session: await call<Session>("POST", "/setup", {body, quiet: true})});
  });
  const submit = () => {
    setDiffer(password !== again);
    if (password === again) void make.run();
  };
  return (
    <main class="narrow" id="main">
      <Head title="Set up" kicker={setup.node && `The node of ${setup.node}`} />
      {setup.here ? (
        <>
          <p class="notice">
            This node has no account yet. Make the first one; it makes those of others.
          </p>
          <ProblemBox problem={make.problem} />
          <Form onSubmit={submit} label="Make the first account">
            <Field
              label="Set-up code"
              hint={
                <>
                  The command <code>partita node setup-code</code> prints it; it works once.
                </>
              }
              value={code}
              onInput={setCode}
              autoComplete="off"
              required
              maxLength={64}
              spellCheck={false}
            />
            <Field
              label="Account"
              hint="Lower-case letters, digits, dots and dashes; begins with a letter."
              value={name}
              onInput={setName}
              autoComplete="username"
              required
              pattern="[a-z][a-z0-9._\-]{0,31}"
              spellCheck={false}
            />
            <Choice
              legend="Role"
              name="role"
              value={role}
              onChange={setRole}
              options={[
                {value: "operator", label: "Operator: keeps the node running, manages accounts"},
                {value: "steward", label: "Steward: decides which studies may use this site's tables"}
              ]}
            />
            <Field
              label="Password"
              hint={kPasswordHint}
              type="password"
              value={password}
              onInput={setPassword}
              autoComplete="new-password"
              required
              maxLength={256}
              pattern=".{12,}"
            />
            <Field
              label="The password again"
              type="password"
              value={again}
              onInput={setAgain}
              autoComplete="new-password"
              required
              maxLength={256}
              {...(differ ? {wrong: "The two passwords differ."} : {})}
            />
            <Submit busy={make.busy}>Make the account</Submit>
          </Form>
        </>
      ) : (
        <div class="notice warn">
          <strong>This node has no account yet.</strong>
          <p>
            The first one is made in a browser on the node's own machine, with the code that{" "}
            <code>partita node setup-code</code> prints there. From afar, a tunnel does it:{" "}
            <code>ssh -L 7443:localhost:7443 HOST</code>.
          </p>
        </div>
      )}
    </main>
  );
}
