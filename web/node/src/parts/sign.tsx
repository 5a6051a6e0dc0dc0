// Something that the steward signs with the passphrase alone, and what the node says then.
import {useState} from "preact/hooks";
import {post} from "../base/api";
import {useAction} from "../base/live";
import {Form, PassphraseField, ProblemBox, Submit} from "./form";

export function Sign<Answer>(props: {
  path: string;
  label: string;
  tone: "main" | "danger";
  more?: Record<string, string>; // of the request: as it was shown, so that nothing else is signed
  onDone: (answer: Answer) => void;
}) {
  const [passphrase, setPassphrase] = useState("");
  const sign = useAction(async () => {
    try {
      props.onDone(await post<Answer>(props.path, {...props.more, passphrase}));
    } finally {
      setPassphrase("");
    }
  });
  return (
    <Form onSubmit={() => void sign.run()} label={props.label}>
      <ProblemBox problem={sign.problem} />
      <PassphraseField value={passphrase} onInput={setPassphrase} />
      <Submit busy={sign.busy} tone={props.tone}>
        {props.label}
      </Submit>
    </Form>
  );
}
