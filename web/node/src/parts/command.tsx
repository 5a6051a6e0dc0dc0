// A command to be typed at the machine, where a page does not do what it does.
import {useState} from "preact/hooks";

export function Command({text, label}: {text: string; label: string}) {
  const [copied, setCopied] = useState("");
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(text);
      setCopied("The command is copied.");
    } catch {
      setCopied("The browser did not copy it: select the command and copy it yourself.");
    }
  };
  return (
    <>
      <pre class="file" tabIndex={0} role="region" aria-label={label} dir="ltr">
        {text}
      </pre>
      <p class="buttons">
        <button type="button" onClick={() => void copy()}>
          Copy the command
        </button>
        <span role="status" class="faint">
          {copied}
        </span>
      </p>
    </>
  );
}
