import type { FormField, FormTexts } from "../../src/operations/run/answerForm.ts";
import type { VNode } from "preact";
import { useId } from "preact/hooks";
import { Checkbox, Field, Select } from "../design/Field.tsx";

interface SchemaFieldsProps {
  readonly fields: readonly FormField[];
  readonly texts: FormTexts;
  /** What is wrong, by the names of fields. */
  readonly problems: Readonly<Record<string, string>>;
  readonly disabled: boolean;
  readonly onChange: (name: string, text: string) => void;
}

/** The fields of a form that was made of a JSON Schema. */
export function SchemaFields({ fields, texts, problems, disabled, onChange }: SchemaFieldsProps): VNode {
  // What the server found where no field is, such as a rule for several fields.
  const elsewhere = Object.entries(problems).filter(([path]) => fields.every(({ name }) => name !== path));
  return (
    <>
      {fields.map((field) => (
        <OneField
          key={field.name}
          field={field}
          text={texts[field.name] ?? ""}
          problem={problems[field.name]}
          disabled={disabled}
          onChange={(text) => onChange(field.name, text)}
        />
      ))}
      {elsewhere.map(([path, problem]) => (
        <p key={path} class="field-error">
          {path === "" ? problem : `${path}: ${problem}`}
        </p>
      ))}
    </>
  );
}

interface OneFieldProps {
  readonly field: FormField;
  readonly text: string;
  readonly problem: string | undefined;
  readonly disabled: boolean;
  readonly onChange: (text: string) => void;
}

/** Up to how many options are shown side by side. */
const mostRadios = 5;

/** From how many characters on a text gets several lines. */
const longText = 120;

function OneField({ field, text, problem, disabled, onChange }: OneFieldProps): VNode {
  const { kind, label: name, required, description, rule, schema, options } = field;
  const label = required ? name : `${name} (optional)`;
  const hint = [description, rule].filter((part) => part !== undefined && part !== "").join(" · ");
  const shared = { label, hint: hint === "" ? undefined : hint, error: problem, disabled };
  switch (kind) {
    case "boolean":
      return <Radios {...shared} value={text} options={yesOrNo} required={required} onChange={onChange} />;
    case "choice":
      if (options.length <= mostRadios)
        return <Radios {...shared} value={text} options={options} required={required} onChange={onChange} />;
      return (
        <div class="answer-choice">
          <Select
            label={label}
            value={text}
            options={[{ value: "", label: required ? "Choose one" : "Leave it out" }, ...options]}
            onChange={onChange}
            disabled={disabled}
          />
          <About hint={shared.hint} error={problem} />
        </div>
      );
    case "choices": {
      const chosen =
        text === "" ? [] : (JSON.parse(text) as readonly unknown[]).map((value) => JSON.stringify(value));
      const put = (value: string, checked: boolean): void => {
        const kept = options
          .map((option) => option.value)
          .filter((each) => (each === value ? checked : chosen.includes(each)));
        onChange(kept.length === 0 && !required ? "" : `[${kept.join(",")}]`);
      };
      return (
        <fieldset class="answer-choice" disabled={disabled}>
          <legend>{label}</legend>
          {options.map((option) => (
            <Checkbox
              key={option.value}
              label={option.label}
              checked={chosen.includes(option.value)}
              onChange={(checked) => put(option.value, checked)}
            />
          ))}
          <About hint={shared.hint} error={problem} />
        </fieldset>
      );
    }
    case "number":
      return <Field {...shared} type="number" value={text} onInput={onChange} />;
    case "text": {
      const isLong = Number(schema["maxLength"] ?? 0) > longText;
      return <Field {...shared} rows={isLong ? 3 : undefined} value={text} onInput={onChange} />;
    }
    default:
      return <Field {...shared} rows={3} mono={kind === "json"} value={text} onInput={onChange} />;
  }
}

const yesOrNo = [
  { value: "true", label: "Yes" },
  { value: "false", label: "No" },
];

interface RadiosProps {
  readonly label: string;
  readonly hint: string | undefined;
  readonly error: string | undefined;
  readonly value: string;
  readonly options: readonly { readonly value: string; readonly label: string }[];
  readonly required: boolean;
  readonly disabled: boolean;
  readonly onChange: (value: string) => void;
}

function Radios({ label, hint, error, value, options, required, disabled, onChange }: RadiosProps): VNode {
  const name = useId();
  const all = required ? options : [...options, { value: "", label: "Leave it out" }];
  return (
    <fieldset class="answer-choice" disabled={disabled}>
      <legend>{label}</legend>
      <div class="answer-radios">
        {all.map((option) => (
          <label
            key={option.value}
            class={value === option.value ? "answer-radio is-chosen" : "answer-radio"}
          >
            <input
              type="radio"
              name={name}
              checked={value === option.value}
              onChange={() => onChange(option.value)}
            />
            <span>{option.label}</span>
          </label>
        ))}
      </div>
      <About hint={hint} error={error} />
    </fieldset>
  );
}

function About({
  hint,
  error,
}: {
  readonly hint: string | undefined;
  readonly error: string | undefined;
}): VNode | null {
  if (error === undefined && hint === undefined) return null;
  return <p class={error === undefined ? "field-hint" : "field-error"}>{error ?? hint}</p>;
}
