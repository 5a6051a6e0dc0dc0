// A study as a policy: the text of one by which this study, proposed once more, would need nobody. It is signed
// at the terminal alone, so that a page that lies widens nothing.
import {saveText} from "../base/csv";
import {sentence} from "../base/text";
import type {StewardScreen} from "../base/types";
import {Command} from "./command";
import {Listing} from "./words";

// Names of studies are plain (docs/study-file.md); whatever else a peer wrote is no name of a file.
const fileOf = (name: string): string =>
  `${/^[A-Za-z0-9][A-Za-z0-9_-]*$/.test(name) ? name.slice(0, 60) : "study"}-policy.toml`;

export const addCommand = (file: string): string =>
  `partita node policy add ${file} --at FOLDER-OF-THE-NODE --steward FOLDER-OF-THE-STEWARD`;

export function PolicyDraft({screen}: {screen: StewardScreen}) {
  const {policy_draft: draft, no_policy: reasons} = screen;
  if (!draft && !reasons.length) return null;
  const file = fileOf(screen.name);
  return (
    <section class="no-print">
      <h2>As a policy</h2>
      {draft ? (
        <details>
          <summary>A draft: this study once more, without being asked</summary>
          <p>
            By this policy the signer would approve one more study like this one. Read it, change its numbers, and sign
            it at the terminal: pages add no policy.
          </p>
          <Listing text={draft} label="Draft of a policy" />
          <p class="buttons">
            <button type="button" onClick={() => saveText(file, "application/toml", draft)}>
              Download the draft
            </button>
          </p>
          <Command text={addCommand(file)} label="Command that signs the policy" />
        </details>
      ) : (
        <>
          <p>It always goes to a person:</p>
          <ul class="list">
            {reasons.map((reason) => (
              <li key={reason}>{sentence(reason)}</li>
            ))}
          </ul>
        </>
      )}
    </section>
  );
}
