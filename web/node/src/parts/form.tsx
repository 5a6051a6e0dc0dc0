// Forms: a label, a hint and a fault for every field, one button that sends, and its problem above it.
import type {ComponentChildren} from "preact";
import {useEffect, useId, useRef, useState} from "preact/hooks";
import type {Problem} from "../base/api";
import {currentEntry, onEntry} from "../base/session";
import {sentence} from "../base/text";

interface FieldProps {
  label: string;
  value: string;
  onInput: (value: string) => void;
  hint?: ComponentChildren;
  wrong?: string;
  type?: "text" | "password" | "number" | "date";
  autoComplete?: string;
  required?: boolean;
  max?: string | number;
  min?: string | number;
  maxLength?: number;
  class?: string;
  inputMode?: "numeric" | "text";
  pattern?: string;
  spellCheck?: boolean;
}

const describedBy = (...ids: Array<string | false | undefined>) => ids.filter(Boolean).join(" ") || undefined;

export function Field(props: FieldProps) {
  const id = useId();
  const {label, value, onInput, hint, wrong, type = "text", ...rest} = props;
  // Of the kinds of input preact's types tell apart, these have all attributes in common.
  const kind = {type} as {type: "text"};
  return (
    <div class="field">
      <label for={id}>{label}</label>
      {hint !== undefined && (
        <p class="hint" id={`${id}-hint`}>
          {hint}
        </p>
      )}
      <input
        id={id}
        {...kind}
        value={value}
        onInput={(event) => onInput(event.currentTarget.value)}
        aria-invalid={wrong ? "true" : undefined}
        aria-describedby={describedBy(hint !== undefined && `${id}-hint`, wrong && `${id}-wrong`)}
        autoCapitalize="none"
        {...rest}
      />
      {wrong && (
        <p class="wrong" id={`${id}-wrong`}>
          {wrong}
        </p>
      )}
    </div>
  );
}

export function Area(props: {
  label: string;
  value: string;
  onInput: (value: string) => void;
  hint?: ComponentChildren;
  class?: string;
  required?: boolean;
  maxLength?: number;
  invalid?: boolean;
  onBlur?: () => void;
}) {
  const id = useId();
  const {label, value, onInput, hint, invalid, ...rest} = props;
  return (
    <div class="field">
      <label for={id}>{label}</label>
      {hint !== undefined && (
        <p class="hint" id={`${id}-hint`}>
          {hint}
        </p>
      )}
      <textarea
        id={id}
        value={value}
        onInput={(event) => onInput(event.currentTarget.value)}
        aria-invalid={invalid ? "true" : undefined}
        aria-describedby={describedBy(hint !== undefined && `${id}-hint`)}
        spellcheck={false}
        {...rest}
      />
    </div>
  );
}

export function Select(props: {
  label: string;
  value: string;
  options: readonly string[];
  words?: Record<string, string>;
  onInput: (value: string) => void;
  hint?: ComponentChildren;
}) {
  const id = useId();
  const {label, value, options, words, onInput, hint} = props;
  return (
    <div class="field">
      <label for={id}>{label}</label>
      {hint !== undefined && (
        <p class="hint" id={`${id}-hint`}>
          {hint}
        </p>
      )}
      <select
        id={id}
        value={value}
        onChange={(event) => onInput(event.currentTarget.value)}
        aria-describedby={describedBy(hint !== undefined && `${id}-hint`)}
      >
        {(options.includes(value) ? options : [...options, value]).map((option) => (
          <option key={option} value={option}>
            {words?.[option] ?? option}
          </option>
        ))}
      </select>
    </div>
  );
}

export function Choice<T extends string>(props: {
  legend: string;
  name: string;
  value: T;
  options: Array<{value: T; label: ComponentChildren}>;
  onChange: (value: T) => void;
}) {
  const {legend, name, value, options, onChange} = props;
  return (
    <fieldset class="field">
      <legend>
        <b>{legend}</b>
      </legend>
      {options.map((option) => (
        <label class="choice" key={option.value}>
          <input
            type="radio"
            name={name}
            value={option.value}
            checked={option.value === value}
            onChange={() => onChange(option.value)}
          />
          <span>{option.label}</span>
        </label>
      ))}
    </fieldset>
  );
}

// The passphrase of the steward's key, or of that of a deputy (`of`). Neither the page nor the browser keeps it; it
// does not outlive the session in which it was typed.
export function PassphraseField({of, ...props}: {value: string; onInput: (value: string) => void; of?: string}) {
  const {onInput} = props;
  useEffect(
    () =>
      onEntry(() => {
        if (currentEntry().kind !== "in") onInput("");
      }),
    [onInput]
  );
  return (
    <Field label={`Passphrase of ${of ?? "the steward"}'s key`} type="password" autoComplete="off" required {...props} />
  );
}

export function ProblemBox({problem}: {problem: Problem | null}) {
  if (!problem) return null;
  return (
    <div class="notice danger" role="alert">
      <p>
        <strong>{sentence(problem.message)}</strong>
      </p>
      {problem.hint && <p>{sentence(problem.hint)}</p>}
      {problem.wait > 0 && <p>Try again in {problem.wait} s.</p>}
    </div>
  );
}

export function Submit(props: {busy: boolean; children: ComponentChildren; tone?: "main" | "danger"}) {
  return (
    <button
      type="submit"
      class={props.tone ?? "main"}
      aria-disabled={props.busy ? "true" : undefined}
    >
      {props.busy ? "One moment …" : props.children}
    </button>
  );
}

// Fields that the browser finds wanting are told by the browser; `onSubmit` comes when all are well.
export function Form(props: {
  onSubmit: () => void;
  children: ComponentChildren;
  label?: string;
  class?: string;
}) {
  const submit = (event: Event) => {
    event.preventDefault();
    props.onSubmit();
  };
  return (
    <form onSubmit={submit} aria-label={props.label} class={props.class}>
      {props.children}
    </form>
  );
}

// A button that asks once more before it does what cannot be taken back: the form opens below it.
export function Unfold(props: {
  label: string;
  tone?: "main" | "danger" | "plain";
  children: (close: () => void) => ComponentChildren;
}) {
  const [open, setOpen] = useState(false);
  const box = useRef<HTMLDivElement>(null);
  const button = useRef<HTMLButtonElement>(null);
  const id = useId();
  useEffect(() => {
    if (open) box.current?.querySelector<HTMLElement>("input, textarea, select, button")?.focus();
  }, [open]);
  const close = () => {
    setOpen(false);
    button.current?.focus();
  };
  return (
    <div class="unfold">
      <button
        type="button"
        ref={button}
        class={props.tone}
        aria-expanded={open}
        aria-controls={open ? id : undefined}
        onClick={() => setOpen(!open)}
      >
        {props.label}
      </button>
      {open && (
        <div
          id={id}
          ref={box}
          class="unfolded"
          onKeyDown={(event) => {
            if (event.key === "Escape") close();
          }}
        >
          {props.children(close)}
        </div>
      )}
    </div>
  );
}
