import type { ComponentChildren, VNode } from "preact";
import { useId } from "preact/hooks";
import "./field.css";

interface FieldProps {
  readonly label: string;
  readonly value: string;
  readonly onInput: (value: string) => void;
  readonly hint?: ComponentChildren;
  /** What is wrong with the value. */
  readonly error?: string | undefined;
  readonly placeholder?: string | undefined;
  /** Several lines. */
  readonly rows?: number | undefined;
  readonly mono?: boolean;
  readonly type?: "text" | "number";
  readonly disabled?: boolean | undefined;
  readonly autoFocus?: boolean;
}

/** A labelled text input. */
export function Field(props: FieldProps): VNode {
  const { label, value, onInput, hint, error, placeholder, rows, mono = false, type = "text" } = props;
  const id = useId();
  const about = error !== undefined || hint !== undefined ? `${id}-about` : undefined;
  const shared = {
    id,
    class: mono ? "input mono" : "input",
    value,
    placeholder,
    disabled: props.disabled,
    autofocus: props.autoFocus === true,
    spellcheck: false,
    autocomplete: "off",
    "aria-invalid": error !== undefined,
    "aria-describedby": about,
  };
  return (
    <div class="field">
      <label for={id}>{label}</label>
      {rows === undefined ? (
        <input
          {...shared}
          type="text"
          inputmode={type === "number" ? "decimal" : "text"}
          onInput={(event) => onInput(event.currentTarget.value)}
        />
      ) : (
        <textarea {...shared} rows={rows} onInput={(event) => onInput(event.currentTarget.value)} />
      )}
      {about === undefined ? null : (
        <p id={about} class={error === undefined ? "field-hint" : "field-error"}>
          {error ?? hint}
        </p>
      )}
    </div>
  );
}

interface SelectProps {
  readonly label: string;
  readonly value: string;
  readonly options: readonly { readonly value: string; readonly label: string }[];
  readonly onChange: (value: string) => void;
  /** Shows the label to screen readers only. */
  readonly compact?: boolean;
  readonly disabled?: boolean | undefined;
}

export function Select({ label, value, options, onChange, compact = false, disabled }: SelectProps): VNode {
  const id = useId();
  return (
    <div class={compact ? "field-compact" : "field"}>
      <label for={id} class={compact ? "unseen" : undefined}>
        {label}
      </label>
      <select
        id={id}
        class="input select"
        value={value}
        disabled={disabled}
        onChange={(event) => onChange(event.currentTarget.value)}
      >
        {options.map((option) => (
          <option key={option.value} value={option.value}>
            {option.label}
          </option>
        ))}
      </select>
    </div>
  );
}

interface CheckboxProps {
  readonly label: ComponentChildren;
  readonly checked: boolean;
  readonly onChange: (checked: boolean) => void;
  readonly disabled?: boolean | undefined;
}

export function Checkbox({ label, checked, onChange, disabled }: CheckboxProps): VNode {
  return (
    <label class="checkbox">
      <input
        type="checkbox"
        checked={checked}
        disabled={disabled}
        onChange={(event) => onChange(event.currentTarget.checked)}
      />
      <span>{label}</span>
    </label>
  );
}
