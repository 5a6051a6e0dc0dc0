import {useState} from "preact/hooks";
import {call, get, post} from "../base/api";
import {useAction, useLoaded, useOnceKey} from "../base/live";
import {kRoles, may} from "../base/roles";
import {firstUpper} from "../base/text";
import type {Account, Accounts, Role, Session} from "../base/types";
import {Choice, Field, Form, ProblemBox, Submit, Unfold} from "../parts/form";
import {Head, Waiting} from "../parts/page";
import {When} from "../parts/words";
import {kPasswordHint} from "./setup";

// Of whoever is logged in: an open browser is not enough.
function OwnPassword(props: {own: boolean; value: string; onInput: (value: string) => void}) {
  return (
    <Field
      label={props.own ? "Current password" : "Your own password"}
      type="password"
      value={props.value}
      onInput={props.onInput}
      autoComplete="current-password"
      required
      maxLength={256}
    />
  );
}

function NewAccount({steward, onDone}: {steward: boolean; onDone: (account: Account) => void}) {
  const [name, setName] = useState("");
  const [role, setRole] = useState<Role>("analyst");
  const [password, setPassword] = useState("");
  const [current, setCurrent] = useState("");
  const key = useOnceKey();
  const make = useAction(async () => {
    const body = {name: name.trim(), role, password, current};
    const account = await post<Account>("/accounts", body, key.of(JSON.stringify(body)));
    key.done();
    setName("");
    setPassword("");
    setCurrent("");
    onDone(account);
  });
  return (
    <Form onSubmit={() => void make.run()} label="New account">
      <ProblemBox problem={make.problem} />
      <Field
        label="Account"
        hint="Lower-case letters, digits, dots and dashes; begins with a letter."
        value={name}
        onInput={setName}
        required
        pattern="[a-z][a-z0-9._\-]{0,31}"
        autoComplete="off"
        spellCheck={false}
      />
      <Choice
        legend="Role"
        name="new-role"
        value={role}
        onChange={setRole}
        options={kRoles.filter((one) => steward || one.role !== "steward").map((one) => ({value: one.role, label: `${firstUpper(one.role)}: ${one.what}`}))}
      />
      <Field
        label="First password"
        hint={`${kPasswordHint} Tell it by another way than mail; they change it here.`}
        type="password"
        value={password}
        onInput={setPassword}
        autoComplete="new-password"
        required
        pattern=".{12,}"
        maxLength={256}
      />
      <OwnPassword own={false} value={current} onInput={setCurrent} />
      <Submit busy={make.busy}>Make the account</Submit>
    </Form>
  );
}

function Password({account, own, onDone}: {account: string; own: boolean; onDone: () => void}) {
  const [current, setCurrent] = useState("");
  const [password, setPassword] = useState("");
  const set = useAction(async () => {
    const body = {current, password};
    await call<void>("POST", `/accounts/${encodeURIComponent(account)}/password`, {body});
    setCurrent("");
    setPassword("");
    onDone();
  });
  return (
    <Form onSubmit={() => void set.run()} label={`Password of ${account}`}>
      <ProblemBox problem={set.problem} />
      <OwnPassword own={own} value={current} onInput={setCurrent} />
      <Field
        label="New password"
        hint={kPasswordHint}
        type="password"
        value={password}
        onInput={setPassword}
        autoComplete="new-password"
        required
        pattern=".{12,}"
        maxLength={256}
      />
      <Submit busy={set.busy}>Set the password</Submit>
    </Form>
  );
}

function Delete({account, onDone}: {account: string; onDone: () => void}) {
  const remove = useAction(async () => {
    await call<void>("DELETE", `/accounts/${encodeURIComponent(account)}`);
    onDone();
  });
  return (
    <Form onSubmit={() => void remove.run()} label={`Delete ${account}`}>
      <p>Its sessions end at once. What it did stays in the records.</p>
      <ProblemBox problem={remove.problem} />
      <Submit busy={remove.busy} tone="danger">
        Delete {account}
      </Submit>
    </Form>
  );
}

export function AccountsPage({session}: {session: Session}) {
  const reads = may(session.role, "read-accounts");
  const manages = may(session.role, "manage-accounts");
  const [said, setSaid] = useState("");
  const {value, problem, reload} = useLoaded("accounts", (cause) =>
    reads ? get<Accounts>("/accounts", cause) : Promise.resolve({accounts: []})
  );
  const done = (what: string) => {
    setSaid(what);
    reload();
    document.querySelector<HTMLElement>("h1")?.focus();
  };
  return (
    <>
      <Head title={reads ? "Accounts" : "Your account"} kicker={`You are ${session.name}, ${session.role}`} />
      <p role="status" class={said ? "notice good" : "unseen"}>
        {said}
      </p>
      {reads && !value && <Waiting problem={problem} retry={reload} />}
      {reads && value && (
        <section>
          <h2>Who may log in here</h2>
          <ul class="cards">
            {value.accounts.map((account) => (
              <li class="card" key={account.name}>
                <div class="line">
                  <h3>
                    {account.name}
                    {account.name === session.name && " (you)"}
                  </h3>
                  <span class="faint">{account.role}</span>
                </div>
                <p class="faint small">
                  {account.last_login ? (
                    <>
                      Last login <When at={account.last_login} />
                    </>
                  ) : (
                    "Never logged in"
                  )}
                </p>
                {manages && account.name !== session.name && (session.role === "steward" || account.role !== "steward") && (
                  <div class="pair">
                    <Unfold label={`New password for ${account.name} …`} tone="plain">
                      {() => (
                        <Password
                          account={account.name}
                          own={false}
                          onDone={() => done(`The password of ${account.name} is set.`)}
                        />
                      )}
                    </Unfold>
                    <Unfold label={`Delete ${account.name} …`} tone="plain">
                      {() => (
                        <Delete account={account.name} onDone={() => done(`${account.name} is deleted.`)} />
                      )}
                    </Unfold>
                  </div>
                )}
              </li>
            ))}
          </ul>
        </section>
      )}
      <div class="halves no-print">
        {manages && (
          <section>
            <h2>New account</h2>
            <NewAccount
              steward={session.role === "steward" || !value?.accounts.some((one) => one.role === "steward")}
              onDone={(account) => done(`The account ${account.name} is there.`)}
            />
          </section>
        )}
        <section>
          <h2>Your password</h2>
          <Password account={session.name} own onDone={() => done("Your password is set.")} />
        </section>
      </div>
    </>
  );
}
