import { InvalidOptionError } from "@stratigraph/core";
import { kindOf, runMetadataPrefix } from "@stratigraph/core/internal";
import type { Author } from "../author.ts";
import type { WorkspaceItem } from "../workspaceItem.ts";
import { filled, variablesOf, type PromptMessage, type PromptTemplate } from "./template.ts";

/** Begins the keys of a run's metadata that say which version of a prompt it uses. */
const keyPrefix = `${runMetadataPrefix}prompt:`;

/** The metadata of a run that uses a version of a prompt. */
export function metadataOf(name: string, version: string): Record<string, string> {
  return { [`${keyPrefix}${name}`]: version };
}

/** The versions of prompts that a checkpoint's metadata names, by the prompts' names. */
export function versionsIn(metadata: object): Map<string, string> {
  const found = new Map<string, string>();
  for (const [key, value] of Object.entries(metadata))
    if (key.startsWith(keyPrefix) && typeof value === "string") found.set(key.slice(keyPrefix.length), value);
  return found;
}

/** A version of a prompt. It never changes. */
export class PromptVersion<Template extends PromptTemplate = PromptTemplate> {
  readonly name: string;
  /** "1" for the first, and so on. */
  readonly version: string;
  /** The version that it was made from. */
  readonly parent: string | undefined;
  readonly template: Template;
  /** The names of the variables, in the order in which they come first. */
  readonly variables: readonly string[];
  /** What was said of the parent, and led to this version. */
  readonly feedback: readonly string[];
  readonly author: Author;
  readonly createdAt: Date;

  /** @internal */
  constructor(name: string, { key, value, author, createdAt }: WorkspaceItem) {
    const { template, parent, feedback } = value as unknown as StoredVersion;
    this.name = name;
    this.version = key;
    this.parent = parent;
    this.template = template as Template;
    this.variables = variablesOf(template);
    this.feedback = feedback;
    this.author = author;
    this.createdAt = createdAt;
  }

  /**
   * What a run that uses this version says in its config, so that it is counted: `graph.invoke(input, { metadata: prompt.metadata })`. For
   * several prompts: `{ ...one.metadata, ...other.metadata }`.
   */
  get metadata(): Record<string, string> {
    return metadataOf(this.name, this.version);
  }

  /**
   * The text, or the messages, with the variables filled in. Values that no variable asks for are left out.
   * @throws InvalidOptionError that names a variable without a value
   */
  render(
    variables?: Readonly<Record<string, string | number | boolean>>,
  ): Template extends string ? string : PromptMessage[];
  render(variables?: Readonly<Record<string, unknown>>): string | PromptMessage[] {
    const given = Object(variables) as Readonly<Record<string, unknown>>;
    const values = new Map<string, string>();
    for (const name of this.variables) {
      const value = given[name];
      if (typeof value !== "string" && typeof value !== "number" && typeof value !== "boolean")
        throw new InvalidOptionError(
          `variables.${name}`,
          value === undefined ? "nothing" : kindOf(value),
          `Version ${this.version} of prompt ${JSON.stringify(this.name)} needs ${this.variables.join(", ")}: text, numbers or booleans.`,
        );
      values.set(name, String(value));
    }
    const template: PromptTemplate = this.template;
    if (typeof template === "string") return filled(template, values);
    return template.map(({ role, content }) => ({ role, content: filled(content, values) }));
  }
}

/** A version as its item has it. */
export interface StoredVersion {
  readonly template: PromptTemplate;
  readonly parent?: string | undefined;
  readonly feedback: readonly string[];
}
