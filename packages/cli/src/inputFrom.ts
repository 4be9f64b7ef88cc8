import { readFile } from "node:fs/promises";
import { resolve } from "node:path";
import { text } from "node:stream/consumers";
import type { Command } from "commander";
import type { Operation } from "@stratigraph/operations";
import { z } from "zod";
import type { Terminal } from "./terminal.ts";

/**
 * The input of an operation as it was typed: its arguments and its own options, without the settings of every command. A field that
 * says so (`fromFile` in its schema) takes `@path` for the contents of a file and `@-` for standard input.
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
    properties?: Record<string, { fromFile?: boolean }>;
  };
  for (const [name, { fromFile }] of Object.entries(properties)) {
    const value = typed[name];
    if (fromFile === true && typeof value === "string" && value.startsWith("@"))
      typed[name] = await contentsOf(value.slice(1), terminal);
  }
  return typed;
}

async function contentsOf(path: string, { stdin, cwd }: Terminal): Promise<string> {
  return path === "-" ? await text(stdin) : await readFile(resolve(cwd, path), "utf8");
}
