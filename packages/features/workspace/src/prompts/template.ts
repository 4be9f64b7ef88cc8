import { InvalidOptionError } from "@stratigraph/core";
import { kindOf } from "@stratigraph/core/internal";

/** A message of a prompt: `{ role: "system", content: "Answer from {documents}." }`. */
export interface PromptMessage {
  readonly role: "system" | "user" | "assistant";
  readonly content: string;
}

/** What a prompt says: text, or chat messages. `{name}` is a variable, `{{` and `}}` are braces. */
export type PromptTemplate = string | readonly PromptMessage[];

const roles: ReadonlySet<unknown> = new Set(["system", "user", "assistant"]);
const mostMessages = 100;

/** A pair of braces, a variable, or a brace alone. */
const braces = /\{\{|\}\}|\{([^{}]*)\}|[{}]/g;
const variableName = /^(?!__proto__$)[\p{L}_][\p{L}\p{N}_.-]*$/u;

/** Checks a template, and copies it. @throws InvalidOptionError */
export function checkedTemplate(template: unknown): PromptTemplate {
  if (typeof template === "string") return checkedText("template", template);
  if (!Array.isArray(template) || template.length === 0 || template.length > mostMessages)
    throw new InvalidOptionError(
      "template",
      Array.isArray(template) ? `${template.length} messages` : kindOf(template),
      `Pass text, or 1 to ${mostMessages} messages: [{ role: "system", content: "Be brief." }].`,
    );
  return (template as unknown[]).map((message, place) => {
    const { role, content } = Object(message) as PromptMessage;
    if (!roles.has(role))
      throw new InvalidOptionError(
        `template[${place}].role`,
        kindOf(role),
        `Use ${[...roles].map((known) => JSON.stringify(known)).join(", ")}.`,
      );
    return { role, content: checkedText(`template[${place}].content`, content) };
  });
}

function checkedText(field: string, text: unknown): string {
  if (typeof text !== "string" || text === "")
    throw new InvalidOptionError(field, text === "" ? text : kindOf(text), "Pass text.");
  if (!text.isWellFormed())
    throw new InvalidOptionError(field, "half a surrogate pair", "Pass well-formed text.");
  for (const match of text.matchAll(braces)) {
    const [found, name] = match;
    if (found === "{{" || found === "}}" || (name !== undefined && variableName.test(name))) continue;
    throw new InvalidOptionError(
      field,
      found.slice(0, 50),
      `At character ${match.index}: write {{ and }} for braces, and {name} for a variable of letters, digits, "_", "." and "-".`,
    );
  }
  return text;
}

/** The variables of a template, in the order in which they come first. */
export function variablesOf(template: PromptTemplate): string[] {
  const found = new Set<string>();
  for (const text of typeof template === "string" ? [template] : template.map(({ content }) => content))
    for (const [, name] of text.matchAll(braces)) if (name !== undefined) found.add(name);
  return [...found];
}

/** The text with its variables filled in. Each has a value. */
export function filled(text: string, values: ReadonlyMap<string, string>): string {
  return text.replace(braces, (found, name?: string) =>
    name === undefined ? found.slice(0, 1) : values.get(name)!,
  );
}
