// What this site says of the variables of a table, to be read.
import {count, plain, sentence, short} from "../base/text";
import type {SiteDictionary, SiteVariable} from "../base/types";
import {Said, Tag} from "./words";

const mostLevels = 30;

// "[18, 110] years", "a, b and 3 more"
export function canBe(variable: SiteVariable): string {
  const levels = variable.levels.slice(0, mostLevels).map((level) => short(plain(level), 60));
  const more = variable.levels.length - levels.length;
  const bounds = variable.lower === "" && variable.upper === "" ? "" : `[${variable.lower}, ${variable.upper}]`;
  const range = [bounds, variable.unit].filter(Boolean).map(plain).join(" ");
  const codes = variable.missing_codes.map((code) => short(plain(code), 20)).slice(0, mostLevels);
  return [
    range,
    levels.join(", ") + (more > 0 ? ` and ${more} more` : ""),
    codes.length ? `missing: ${codes.join(", ")}` : ""
  ]
    .filter(Boolean)
    .join("; ");
}

export function SiteVariables({own, table}: {own: SiteDictionary; table: string}) {
  if (own.problem)
    return (
      <div class="notice danger">
        <strong>The dictionary of this table cannot be read, so no study of it is valid here.</strong>
        <p>{sentence(own.problem)}</p>
      </div>
    );
  const hidden = own.variables.filter((one) => one.hidden).length;
  return (
    <details>
      <summary>
        {`Dictionary of this site: ${count(own.variables.length, "variable", "variables")}${hidden ? `, ${hidden} hidden` : ""}`}
      </summary>
      <div class="table" tabIndex={0} role="region" aria-label={`Dictionary of ${table}`}>
        <table>
          <thead>
            <tr>
              <th scope="col">Variable</th>
              <th scope="col">Other sites</th>
              <th scope="col">Type</th>
              <th scope="col">Can be</th>
            </tr>
          </thead>
          <tbody>
            {own.variables.map((variable) => (
              <tr key={variable.name}>
                <th scope="row">
                  <Said text={variable.name} />
                </th>
                <td>{variable.hidden ? <Tag tone="warn">hidden</Tag> : "may ask"}</td>
                <td>{variable.type}</td>
                <td class="words">
                  <Said text={canBe(variable)} or="not said" />
                  {variable.description && (
                    <p class="faint small">
                      <Said text={variable.description} />
                    </p>
                  )}
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </details>
  );
}
