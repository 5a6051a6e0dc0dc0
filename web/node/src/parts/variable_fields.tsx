// The fields of one variable of a dictionary, as its type has them.
import {hasLevels, hasUnit, kTypes} from "../base/dictionary";
import type {SiteVariable} from "../base/types";
import {Area, Field, Select} from "./form";

const lines = (text: string): string[] => text.split("\n");

export function VariableFields(props: {variable: SiteVariable; onInput: (change: Partial<SiteVariable>) => void}) {
  const {variable, onInput} = props;
  const {type} = variable;
  const dates = type === "date";
  return (
    <div class="variable-fields">
      <Field
        label="Name"
        hint="As the column of the table is called."
        value={variable.name}
        onInput={(name) => onInput({name})}
        maxLength={64}
        spellCheck={false}
      />
      <Select label="Type" value={type} options={kTypes} onInput={(chosen) => onInput({type: chosen})} />
      <Field
        label="Description"
        hint="One line: what was asked or measured, and how."
        class="wide"
        value={variable.description}
        onInput={(description) => onInput({description})}
        maxLength={500}
      />
      {!hasLevels(type) && (
        <>
          <Field
            label="Lower bound"
            hint={dates ? "2000-01-31: by the study period." : "By the instrument, not by the data."}
            value={variable.lower}
            onInput={(lower) => onInput({lower})}
            maxLength={64}
          />
          <Field
            label="Upper bound"
            hint={dates ? "2030-12-31" : "Values outside stop a study."}
            value={variable.upper}
            onInput={(upper) => onInput({upper})}
            maxLength={64}
          />
        </>
      )}
      {hasUnit(type) && (
        <Field label="Unit" hint="kg, years" value={variable.unit} onInput={(unit) => onInput({unit})} maxLength={256} />
      )}
      {type === "survival" && (
        <>
          <Field label="Column of the time" value={variable.time} onInput={(time) => onInput({time})} maxLength={128} />
          <Field label="Column of the event" value={variable.event} onInput={(event) => onInput({event})} maxLength={128} />
        </>
      )}
      {hasLevels(type) && (
        <>
          <Area
            label="Levels"
            hint={type === "ordered" ? "One a line, the lowest first: all that can occur." : "One a line: all that can occur."}
            value={variable.levels.join("\n")}
            onInput={(text) => onInput({levels: lines(text)})}
          />
          <div>
            <Select
              label="Contrasts"
              hint="How it enters a model."
              value={variable.contrasts}
              options={type === "ordered" ? ["", "polynomial", "scores", "treatment", "sum"] : ["", "treatment", "sum"]}
              words={{"": type === "ordered" ? "as ordered variables have (polynomial)" : "as factors have (treatment)"}}
              onInput={(contrasts) => onInput({contrasts})}
            />
            <Field
              label="Reference level"
              hint="Of treatment contrasts; else the first level."
              value={variable.reference}
              onInput={(reference) => onInput({reference})}
              maxLength={256}
            />
          </div>
        </>
      )}
      <Area
        label="Missing codes"
        hint="One a line, beside the empty cell."
        value={variable.missing_codes.join("\n")}
        onInput={(text) => onInput({missing_codes: lines(text)})}
      />
      <label class="choice wide">
        <input
          type="checkbox"
          checked={!variable.hidden}
          onChange={(event) => onInput({hidden: !event.currentTarget.checked})}
        />
        <span>Other sites may see it and ask for it</span>
      </label>
    </div>
  );
}
