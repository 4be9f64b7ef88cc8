import type { CallToolResult, McpServer } from "@modelcontextprotocol/server";
import { InvalidOptionError } from "@stratigraph/core";
import { z } from "zod";
import { runOperation, type Context, type Operation } from "../operations/index.ts";
import { addAnswer } from "./answer.ts";
import type { ToolHost } from "./calls.ts";
import { callTool } from "./callTool.ts";
import { linksOf } from "./links.ts";
import { described, type JsonSchema } from "./results.ts";

/** How much of values a tool shows unless asked for more, in bytes: clients cut off or refuse what fills a model's context. */
const usualBytes = 16_000;

/** How long a page is unless asked for more. */
const usualLimit = 20;

/** The largest result, in bytes of JSON. */
const mostResultBytes = 400_000;

/** Inputs that a client can't give: a person answers a question, and no model for them, nor does it step over the node that asks. */
const withheld: Readonly<Record<string, readonly string[]>> = {
  run: ["resume", "unchecked"],
  fork: ["asNode"],
  set: ["asNode"],
};

/** Offers operations as tools. */
export function addTools(server: McpServer, offered: readonly Operation[], host: ToolHost): void {
  for (const operation of offered)
    if (operation.name === "answer") addAnswer(server, host);
    else addTool(server, operation, host);
}

function addTool(server: McpServer, operation: Operation, host: ToolHost): void {
  const { name, summary, effect } = operation;
  const { input, output } = schemasOf(operation);
  server.registerTool(
    name,
    {
      title: titleOf(name),
      description:
        effect === "destroy" ? `${summary} Only tells what it would do, unless dryRun is false.` : summary,
      inputSchema: input,
      outputSchema: output,
      annotations: annotationsOf(operation),
    },
    async (given, ctx) =>
      await callTool(host, name, given, ctx, async (context) => ({
        result: await answered(operation, given, context),
        outcome: "ok",
      })),
  );
}

/** The operation's output: as data, as text for clients that read no data, and with links to what was too long. */
async function answered(operation: Operation, given: unknown, context: Context): Promise<CallToolResult> {
  const input = withDefaults(operation, given as Readonly<Record<string, unknown>>);
  for (const field of withheld[operation.name] ?? [])
    if (field in input)
      throw new InvalidOptionError(
        field,
        "something",
        'Over MCP only a person answers, or goes past a question: use the tool "answer", which asks one.',
      );
  let output = await runOperation(operation, input, context);
  let text = JSON.stringify(output);
  // What changed something isn't done again, and what it did is told.
  if (text.length > mostResultBytes && operation.effect === "read") {
    const { items } = output as { readonly items?: readonly unknown[] };
    if ("limit" in operation.input.shape && (items?.length ?? 0) > 1) {
      // A page that is too long becomes a shorter one, with the cursor that belongs to it.
      const fitting = Math.max(1, Math.floor((items!.length * mostResultBytes) / text.length / 2));
      output = await runOperation(operation, { ...input, limit: fitting }, context);
      text = JSON.stringify(output);
    }
    if (text.length > mostResultBytes) throw tooLong(operation, text.length);
  }
  return {
    content: [{ type: "text", text }, ...linksOf(operation.name, output)],
    structuredContent: output,
  };
}

function tooLong({ input }: Operation, length: number): InvalidOptionError {
  return new InvalidOptionError(
    "maxBytes" in input.shape ? "maxBytes" : "limit",
    `a result of ${length} characters`,
    `A result may have ${mostResultBytes}. Ask for less, or for a part by its path.`,
  );
}

function withDefaults(
  { input: { shape }, effect }: Operation,
  given: Readonly<Record<string, unknown>>,
): Record<string, unknown> {
  return {
    ...("maxBytes" in shape ? { maxBytes: usualBytes } : {}),
    ...("limit" in shape ? { limit: usualLimit } : {}),
    ...(effect === "destroy" && "dryRun" in shape ? { dryRun: true } : {}),
    ...given,
  };
}

function annotationsOf({ name, effect }: Operation) {
  return {
    readOnlyHint: effect === "read",
    destructiveHint: effect === "destroy",
    idempotentHint: effect === "read" || name === "promote",
    // A run calls models and tools of the application.
    openWorldHint: name === "run",
  };
}

function titleOf(name: string): string {
  const text = name.replaceAll("-", " ");
  return text[0]!.toUpperCase() + text.slice(1);
}

interface Schemas {
  readonly input: ReturnType<typeof described>;
  readonly output: ReturnType<typeof described>;
}

const schemas = new Map<string, Schemas>();

/** The schemas of an operation, made once: over HTTP each request has a server of its own. */
function schemasOf(operation: Operation): Schemas {
  const { name, input, output } = operation;
  const known = schemas.get(name);
  if (known !== undefined) return known;
  const taken = z.toJSONSchema(input, { io: "input" }) as JsonSchema;
  const made = {
    input: described(patched(operation, taken)),
    output: described(withoutDescriptions(z.toJSONSchema(output, { io: "output" }))),
  };
  schemas.set(name, made);
  return made;
}

/** The schema of an input as this front takes it. */
function patched(operation: Operation, schema: JsonSchema): JsonSchema {
  const defaults = withDefaults(operation, {});
  const hidden = new Set(withheld[operation.name]);
  const all = schema["properties"] as Readonly<Record<string, object>>;
  const properties = Object.entries(all)
    .filter(([field]) => !hidden.has(field))
    .map(([field, own]) => [field, field in defaults ? { ...own, default: defaults[field] } : own]);
  return { ...schema, properties: Object.fromEntries(properties), additionalProperties: false };
}

/** The forms of a schema alone: each conversation begins with all tools, and what fields mean is in the guide. */
function withoutDescriptions(schema: object): JsonSchema {
  const bare = JSON.stringify(schema, (key, value: unknown) => {
    if (key === "description" && typeof value === "string") return undefined;
    return value;
  });
  return JSON.parse(bare) as JsonSchema;
}
