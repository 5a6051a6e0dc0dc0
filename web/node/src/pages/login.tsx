import {useState} from "preact/hooks";
import {call} from "../base/api";
import {useAction} from "../base/live";
import {setEntry} from "../base/session";
import type {Session} from "../base/types";
import {Field, Form, ProblemBox, Submit} from "../parts/form";
import {Head} from "../parts/page";

// `ended`: of whom the session was, whose page waits unseen.
export function Login({node, ended}: {node: string; ended?: Session}) {
  const [name, setName] = useState(ended?.name ?? "");
  const [password, setPassword] = useState("");
  const login = useAction(async () => {
    try {
      const body = {name: name.trim(), password};
      const session = await call<Session>("POST", "/session", {body, quiet: true});
      setEntry({kind: "in", session});
    } finally {
      setPassword("");
    }
  });
  return (
    <main class="narrow" id="main">
      <Head title="Log in" kicker={node && `The node of ${node}`} />
      {ended && (
        <div class="notice warn" role="status">
          <strong>Your session ended.</strong>
          <p>Log in again as {ended.name}: what you typed is still there, but for passphrases.</p>
        </div>
      )}
      <ProblemBox problem={login.problem} />
      <Form onSubmit={() => void login.run()} label="Log in">
        <Field label="Account" value={name} onInput={setName} autoComplete="username" required maxLength={64} spellCheck={false} />
        <Field
          label="Password"
          type="password"
          value={password}
          onInput={setPassword}
          autoComplete="current-password"
          required
          maxLength={256}
        />
        <Submit busy={login.busy}>Log in</Submit>
      </Form>
    </main>
  );
}
