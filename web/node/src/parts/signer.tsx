// Who signs: the steward, or a deputy in the steward's place, each with an own passphrase.
import {plain} from "../base/text";
import {Choice} from "./form";

export const kSteward = "the steward";

// Of a request: nothing is said of the steward.
export const asDeputy = (name: string) => (name === kSteward || name === "" ? {} : {deputy: name});
export const ofWhom = (name: string) => plain(name || kSteward);

// Where there is nobody but the steward, nothing is asked.
export function SignerChoice(props: {names: string[]; value: string; onInput: (name: string) => void}) {
  if (props.names.length === 0 || (props.names.length === 1 && props.names[0] === kSteward)) return null;
  return (
    <Choice
      legend="Who signs"
      name="signer"
      value={props.value}
      options={props.names.map((name) => ({value: name, label: plain(name)}))}
      onChange={props.onInput}
    />
  );
}
