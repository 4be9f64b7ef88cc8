import type { VNode } from "preact";
import { Button } from "../design/Button.tsx";
import { Checkbox, Field } from "../design/Field.tsx";

interface JsonAnswerProps {
  readonly node: string;
  readonly question: unknown;
  readonly text: string;
  readonly problems: Readonly<Record<string, string>>;
  readonly hasSchema: boolean;
  readonly unchecked: boolean;
  readonly disabled: boolean;
  readonly onChange: (changed: { readonly json?: string; readonly unchecked?: boolean }) => void;
}

/** One field for an answer in JSON, and what there may be to choose from. */
export function JsonAnswer(props: JsonAnswerProps): VNode {
  const { node, question, text, problems, hasSchema, unchecked, disabled, onChange } = props;
  const found = Object.entries(problems).map(([path, problem]) =>
    path === "" ? problem : `${path}: ${problem}`,
  );
  return (
    <>
      <Field
        label={`Answer to ${node}`}
        value={text}
        onInput={(json) => onChange({ json })}
        rows={hasSchema ? 5 : 2}
        mono
        placeholder={'"yes", true, {"approved": true}'}
        hint={hasSchema ? "JSON that fits the question’s schema." : hintOf(text)}
        error={found.length === 0 ? undefined : found.join(" ")}
        disabled={disabled}
      />
      {hasSchema ? (
        <Checkbox
          label="Send it even if it doesn’t fit"
          checked={unchecked}
          disabled={disabled}
          onChange={(checked) => onChange({ unchecked: checked })}
        />
      ) : (
        <div class="answer-quick">
          {optionsOf(question).map((option) => (
            <Button
              key={option}
              size="small"
              disabled={disabled}
              pressed={text === option}
              onClick={() => onChange({ json: option })}
            >
              {option}
            </Button>
          ))}
        </div>
      )}
    </>
  );
}

function hintOf(text: string): string {
  if (text.trim() === "") return "JSON. Anything else is sent as a text.";
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "string" ? `Sent as the text ${JSON.stringify(value)}.` : "Sent as JSON.";
  } catch {
    return `Sent as the text ${JSON.stringify(text)}.`;
  }
}

/** The answers to choose from: those that the question names, or true and false. */
function optionsOf(question: unknown): readonly string[] {
  const { options, choices } = Object(question) as { readonly options?: unknown; readonly choices?: unknown };
  const named = [options, choices].find(
    (each): each is string[] =>
      Array.isArray(each) &&
      each.length > 0 &&
      each.every((item) => typeof item === "string" && item.length < 60),
  );
  return named?.slice(0, 12) ?? ["true", "false"];
}
