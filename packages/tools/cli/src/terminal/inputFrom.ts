import { readFile } from "node:fs/promises";
import { resolve } from "node:path";
import { text } from "node:stream/consumers";
import type { Command } from "commander";
import type { Operation } from "../operations/index.ts";
import { InvalidOptionError } from "stratigraph";
import { z } from "zod";
import type { Terminal } from "./terminal.ts";

/** The parts of a field's JSON schema that are used here. */
interface Property {
  readonly type?: string;
  /** Set by `.meta({ fromFile: true })`: text that may be long. */
  readonly fromFile?: boolean;
}

/**
 * The input of an operation as it was typed: its arguments and its own options, without the settings of every command. A field that is an
 * object takes JSON. Such a field, and text that may be long (`fromFile` in its schema), may be `@path` for a file's contents, and `@-` for
 * standard input.
 */
export async function inputFrom(
  operation: Operation,
  command: Command,
  terminal: Terminal,
): Promise<Record<string, unknown>> {
  const typed: Record<string, unknown> = command.opts();
  for (const [n, name] of (operation.args ?? []).entries())
    if (command.processedArgs[n] !== undefined) typed[name] = command.processedArgs[n];
  const { properties = {} } = z.toJSONSchema(operation.input, { io: "input" }) as {
    properties?: Readonly<Record<string, Property>>;
  };
  for (const [name, { type, fromFile }] of Object.entries(properties)) {
    const value = typed[name];
    const isJson = type === "object";
    if (typeof value !== "string" || !(isJson || fromFile === true)) continue;
    const found = value.startsWith("@") ? await contentsOf(name, value.slice(1), terminal) : value;
    typed[name] = isJson ? parsed(name, found) : found;
  }
  return typed;
}

function parsed(name: string, text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new InvalidOptionError(
      name,
      "text that is no JSON",
      "Pass JSON, or @ and the path of a file that holds it.",
    );
  }
}

async function contentsOf(name: string, path: string, { stdin, cwd }: Terminal): Promise<string> {
  try {
    return path === "-" ? await text(stdin) : await readFile(resolve(cwd, path), "utf8");
  } catch (error) {
    throw new InvalidOptionError(name, `@${path}`, `The file can't be read: ${(error as Error).message}.`);
  }
}
