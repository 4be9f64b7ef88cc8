import type { OutputOf } from "../operations/index.ts";
import { shown } from "../operations/render/columns.ts";
import { answerForm, answerFrom, fieldProblem, type FormField } from "../operations/run/answerForm.ts";
import { inlineText } from "../operations/values/text.ts";
import { writeLine, type Terminal } from "./terminal.ts";

type Question = OutputOf<"run">["interrupts"][number];

/**
 * Asks the person at the terminal what a graph waits for: by the fields of the question's schema, or for JSON.
 * @returns answers by the ids of questions, as JSON; undefined if the person answers none of them now (Esc or Ctrl-C)
 */
export async function askAnswers(
  questions: readonly Question[],
  terminal: Terminal,
): Promise<string | undefined> {
  const answers: Record<string, unknown> = {};
  for (const { id, node, value, schema } of questions) {
    await writeLine(terminal.stderr, `\n${shown(node)} asks: ${inlineText(value.value)}`);
    const fields = schema === undefined ? [anyJson] : answerForm(schema);
    const texts: Record<string, string> = {};
    for (const field of fields) {
      const text = await filledIn(field, terminal);
      if (text === undefined) {
        const left = "Left as it is: the question waits on.";
        await writeLine(terminal.stderr, left);
        return Object.keys(answers).length === 0 ? undefined : JSON.stringify(answers);
      }
      texts[field.name] = text;
    }
    const made = answerFrom(fields, texts);
    if ("answer" in made) answers[id] = made.answer;
  }
  return JSON.stringify(answers);
}

const anyJson: FormField = {
  ...answerForm(undefined)[0]!,
  label: "Answer",
  rule: "JSON; anything else is sent as a text",
};

/** What a person fills in for one field; undefined if they answer nothing now. */
async function filledIn(field: FormField, terminal: Terminal): Promise<string | undefined> {
  const { isCancel, multiselect, select, text } = await import("@clack/prompts");
  const { kind, label, description, rule, required, options, initial } = field;
  const about = [description, rule].filter((part) => part !== undefined && part !== "").join("; ");
  const named = `${shown(label)}${required ? "" : " (optional)"}${about === "" ? "" : `: ${shown(about)}`}`;
  const on = { input: terminal.stdin, output: terminal.stderr };
  const choices =
    kind === "boolean" ? yesOrNo : options.map((each) => ({ ...each, label: shown(each.label) }));
  if (kind === "boolean" || kind === "choice") {
    const all = required ? choices : [...choices, { value: "", label: "Leave it out" }];
    const given = await select<string>({ ...on, message: named, options: all, initialValue: initial });
    return isCancel(given) ? undefined : given;
  }
  if (kind === "choices") {
    const given = await multiselect<string>({
      ...on,
      message: `${named} (space chooses)`,
      options: [...choices],
      initialValues:
        initial === "" ? [] : (JSON.parse(initial) as unknown[]).map((value) => JSON.stringify(value)),
      required: false,
    });
    if (isCancel(given)) return undefined;
    const chosen = given.length === 0 && !required ? "" : `[${given.join(",")}]`;
    const problem = fieldProblem(field, chosen);
    if (problem === undefined) return chosen;
    await writeLine(terminal.stderr, problem);
    return await filledIn(field, terminal);
  }
  const made = (typed: string | undefined): string => textOf(field, typed ?? "");
  const given = await text({
    ...on,
    message: named.replace("one a line", "separated by commas"),
    initialValue: initial,
    validate: (typed) => fieldProblem(field, made(typed)),
  });
  return isCancel(given) ? undefined : made(given);
}

const yesOrNo = [
  { value: "true", label: "Yes" },
  { value: "false", label: "No" },
];

/** What a person typed in one line, as a form's text. */
function textOf(field: FormField, typed: string): string {
  if (field.kind === "list") return typed.split(",").join("\n");
  if (field !== anyJson || typed.trim() === "") return typed;
  try {
    JSON.parse(typed);
    return typed;
  } catch {
    return JSON.stringify(typed);
  }
}
