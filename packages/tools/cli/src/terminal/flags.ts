import { Argument, Option } from "commander";
import { z } from "zod";
import type { Operation } from "../operations/index.ts";

/** The parts of the JSON schema of an operation's input that are used here. */
interface Property {
  readonly type?: string;
  readonly description?: string;
  readonly default?: unknown;
  readonly enum?: readonly string[];
  readonly items?: Property;
}

interface InputSchema {
  readonly properties?: Readonly<Record<string, Property>>;
  readonly required?: readonly string[];
}

/** Short forms of options that many operations have. */
const shortForms: Readonly<Record<string, string>> = { limit: "-n" };

/** The arguments and options of an operation's command. */
export interface Flags {
  readonly args: readonly Argument[];
  readonly options: readonly Option[];
}

/** Derives arguments and options from the schema of an operation's input. */
export function flagsOf({ input, args: positional = [] }: Operation): Flags {
  const { properties = {}, required = [] } = z.toJSONSchema(input, { io: "input" }) as InputSchema;
  const args = positional.map((name) => {
    const { description, type } = properties[name] ?? {};
    const shown = `${kebab(name)}${type === "array" ? "..." : ""}`;
    return new Argument(required.includes(name) ? `<${shown}>` : `[${shown}]`, description);
  });
  const options = Object.entries(properties)
    .filter(([name]) => !positional.includes(name))
    .map(([name, property]) => optionOf(name, property, required.includes(name)));
  return { args, options };
}

/** An operation's message. The names of input fields in backticks are replaced by the arguments and options of the command line. */
export function withFlags({ input, args = [] }: Operation, message: string): string {
  return message.replaceAll(/`(\w+)`/g, (written, name: string) => {
    if (!Object.hasOwn(input.shape, name)) return written;
    return args.includes(name) ? `<${kebab(name)}>` : `--${kebab(name)}`;
  });
}

function optionOf(name: string, property: Property, isRequired: boolean): Option {
  const { type, description, items } = property;
  const short = Object.hasOwn(shortForms, name) ? `${shortForms[name]}, ` : "";
  const long = `${short}--${kebab(name)}`;
  const option = new Option(type === "boolean" ? long : `${long} <${valueName(property)}>`, description);
  if (type === "array") option.argParser((text: string, before: string[] = []) => [...before, text]);
  const choices = property.enum ?? items?.enum;
  // Lists are checked by the schema: choices() would replace the parser that collects their items.
  if (choices !== undefined && type !== "array") option.choices([...choices]);
  const shownDefault = property.default;
  if (shownDefault !== undefined && shownDefault !== "" && type !== "boolean" && type !== "array")
    option.description = `${description ?? ""} (default: ${String(shownDefault)})`;
  if (isRequired) option.makeOptionMandatory();
  return option;
}

function valueName({ type }: Property): string {
  return type === "integer" || type === "number" ? "n" : "value";
}

function kebab(name: string): string {
  return name.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
}
