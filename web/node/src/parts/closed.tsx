// What a restore from a backup left of this site's tables, and what opens them.
import type {Node} from "../base/types";
import {Command} from "./command";
import {Day} from "./words";

export const areClosed = (node: Node): boolean => node.restored?.closed ?? false;

// Nothing where the tables are not closed. whole: with the command, else with the way to the page that has it.
export function TablesClosed({node, whole = false}: {node: Node; whole?: boolean}) {
  const {restored} = node;
  if (!restored?.closed) return null;
  return (
    <div class="notice danger">
      <strong>The tables of this site are closed.</strong>
      {restored.time === "" ? (
        <p>
          The node was restored from a backup, and the mark of that cannot be read. Whoever keeps the node
          restores it again, into a new folder.
        </p>
      ) : (
        <>
          <p>
            The node was restored from a backup on <Day at={restored.time} />. Nobody knows what was opened
            from its tables since that backup was made, so no study reads them until the steward signs what is
            left of their budgets. Other sites are asked what they were shown of the ledger: {restored.answered} of{" "}
            {restored.asked} answered.
            {!whole && (
              <>
                {" "}
                <a href="#/node">How the steward opens them</a>.
              </>
            )}
          </p>
          {whole && (
            <>
              <p>The steward does so at the machine of the node, with the folders of node and steward&apos;s key:</p>
              <Command text="partita node reopen --at NODE-FOLDER --steward STEWARD-FOLDER" label="Command that opens the tables" />
            </>
          )}
        </>
      )}
    </div>
  );
}
