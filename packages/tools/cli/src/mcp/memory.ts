import type { CallToolResult, McpServer } from "@modelcontextprotocol/server";
import { InvalidOptionError } from "@stratigraph/core";
import { decodeCursor, encodeCursor } from "@stratigraph/core/internal";
import type { ItemAddress } from "@stratigraph/core/tier";
import type { Workspace, WorkspaceItem, Written } from "@stratigraph/workspace";
import { z } from "zod";
import { failed } from "./memoryErrors.ts";
import {
  changeOf,
  itemOf,
  largestValue,
  memoryFields as fields,
  shownChange,
  shownItem,
} from "./memoryFields.ts";

/** What {@link addMemory} registers. */
export interface MemoryOptions {
  /** The memory. */
  readonly workspace: Workspace;
  /** Who calls: the author of what is put, and the owner of namespace `["agents", agent]`. */
  readonly agent: string;
  /** "write" adds the tools that put and delete. */
  readonly allow: readonly string[];
  /** Whether a part of a value is hidden, so that the value isn't told. Default: none is. */
  readonly hides?: ((at: ItemAddress, value: Record<string, unknown>) => boolean) | undefined;
  /** Gets errors that aren't ours. Default: nobody does. */
  readonly onError?: ((error: unknown) => void) | undefined;
}

type Called = (output: object) => CallToolResult;

const done: Called = (output) => ({
  content: [{ type: "text", text: JSON.stringify(output) }],
  structuredContent: { ...output },
});

const placeOfPage = z.object({ version: z.number(), offset: z.number() });
type Place = z.output<typeof placeOfPage>;

/**
 * Registers the tools of a shared memory on an MCP server. An agent reads all items. It puts and deletes those of namespaces that begin with
 * `["agents", <its name>]`, where nobody else does, and with `["shared"]`: the workspace's roles see to it.
 * @throws InvalidAddressError if the agent's name can't be one
 */
export function addMemory(
  server: McpServer,
  { workspace, agent, allow, hides = () => false, onError = () => undefined }: MemoryOptions,
): void {
  const answered = async (call: () => Promise<object>): Promise<CallToolResult> => {
    try {
      return done(await call());
    } catch (error) {
      return failed(error, onError);
    }
  };
  const shownOf = (item: WorkspaceItem | null, maxBytes: number): z.output<typeof shownItem> | null =>
    item && itemOf(item, hides(item, item.value) ? 0 : maxBytes);
  const write = allow.includes("write") ? [["agents", agent], ["shared"]] : [];
  const memory = workspace.as(agent, { read: [[]], write });
  const where = `Shared memory ${JSON.stringify(workspace.name)}.`;
  const readHints = { readOnlyHint: true, idempotentHint: true, openWorldHint: false };

  server.registerTool(
    "memory_get",
    {
      title: "Read an item of the shared memory",
      description: `${where} Reads one item, with its version and who wrote it.`,
      inputSchema: z.object({
        namespace: fields.namespace,
        key: fields.key,
        maxBytes: fields.maxBytes(1_000_000, "A longer value is left out, and its size is told."),
      }),
      outputSchema: z.object({ item: shownItem.nullable().describe("null: there is no such item.") }),
      annotations: readHints,
    },
    async ({ namespace, key, maxBytes }) =>
      await answered(async () => ({ item: shownOf(await memory.get(namespace, key), maxBytes) })),
  );

  server.registerTool(
    "memory_search",
    {
      title: "Search the shared memory",
      description: `${where} Lists items, last changed first, or those that have the words of a query, best first.`,
      inputSchema: z.object({
        prefix: fields.prefix,
        query: z.string().min(1).max(1000).optional().describe("Words that are to be in the item."),
        filter: z
          .record(z.string(), z.unknown())
          .optional()
          .describe('Fields of the value: {"kind": "fact"} or {"euro": {"$gt": 100}}.'),
        limit: fields.limit,
        maxBytes: fields.maxBytes(200_000, "The page ends before values that are longer in all."),
        cursor: fields.cursor,
      }),
      outputSchema: z.object({
        items: z.array(shownItem),
        cursor: z.string().optional().describe("Pass it to get the next page. Absent: this is the last one."),
      }),
      annotations: readHints,
    },
    async ({ prefix, query, filter, limit, maxBytes, cursor }) =>
      await answered(async () => {
        const place: Place =
          cursor === undefined
            ? { version: await memory.version(), offset: 0 }
            : decodeCursor(cursor, isPlace, "Pass the cursor of the page before, unchanged.");
        const asked = {
          limit: limit + 1,
          offset: place.offset,
          ...(query && { query }),
          ...(filter && { filter }),
        };
        let found = await memory.search(prefix ?? [], asked);
        // All pages show one version: else an item that somebody deletes meanwhile would hide another one.
        if ((await memory.version()) !== place.version)
          found = await (await memory.at(place.version)).search(prefix ?? [], asked);
        const items: z.output<typeof shownItem>[] = [];
        let left = maxBytes;
        let taken = 0;
        for (const each of found.slice(0, limit)) {
          // That it was found would tell something of what is hidden in it.
          const isTold = (query === undefined && filter === undefined) || !hides(each, each.value);
          const item = isTold ? shownOf(each, maxBytes)! : undefined;
          left -= item === undefined ? 0 : Buffer.byteLength(JSON.stringify(item));
          if (left < 0 && items.length > 0) break;
          taken += 1;
          if (item !== undefined) items.push(item);
        }
        const next = { ...place, offset: place.offset + taken } satisfies Place;
        return { items, ...(taken < found.length && { cursor: encodeCursor(next) }) };
      }),
  );

  server.registerTool(
    "memory_since",
    {
      title: "What changed in the shared memory",
      description:
        `${where} Lists changes, oldest first, with who made them and why. Without version and cursor it begins with the oldest change that ` +
        `is still there, and so tells every item.`,
      inputSchema: z.object({
        version: z.number().int().min(0).optional().describe("Only what came after this version."),
        cursor: fields.cursor.describe(
          "The `cursor` of the page before, instead of a version. It notices a restored backup.",
        ),
        prefix: fields.prefix,
        limit: fields.limit,
        maxBytes: fields.maxBytes(200_000, "The page ends before values that are longer in all."),
      }),
      outputSchema: z.object({
        changes: z.array(shownChange),
        version: z.number().describe("All changes up to this version were told."),
        cursor: z.string().describe("Where the next page begins, also when nothing more is there yet."),
        more: z.boolean().describe("Whether there is more to read now."),
      }),
      annotations: readHints,
    },
    async ({ version, cursor, prefix, limit, maxBytes }) =>
      await answered(async () => {
        const asked = { since: version, cursor, prefix: prefix ?? [], limit, maxBytes };
        const page = await memory.changes(asked);
        const changes = page.changes.flatMap((event) =>
          changeOf(event, event.kind === "put" && hides(event, event.value) ? 0 : maxBytes),
        );
        return { ...page, changes };
      }),
  );

  if (!allow.includes("write")) return;
  const writtenOf = (result: Written): z.output<typeof written> =>
    result.ok ? { ...result } : { ok: false, current: shownOf(result.current, largestValue) };
  const mine = `You may write in ${JSON.stringify(["agents", agent])} and ["shared"], and below these.`;

  server.registerTool(
    "memory_put",
    {
      title: "Write an item of the shared memory",
      description:
        `${where} Puts an item in the place of the one that is there. ${mine} With ifVersion, only if the item still has that version; if not, ` +
        `nothing is written, and the item as it is comes back. What was there before stays in the history.`,
      inputSchema: z.object({
        namespace: fields.namespace,
        key: fields.key,
        value: z.record(z.string(), z.unknown()).describe(`A JSON object of at most ${largestValue} bytes.`),
        ifVersion: fields.ifVersion,
        reason: fields.reason,
      }),
      outputSchema: written,
      annotations: {
        readOnlyHint: false,
        destructiveHint: false,
        idempotentHint: true,
        openWorldHint: false,
      },
    },
    async ({ namespace, key, value, ifVersion, reason }) =>
      await answered(async () => {
        const bytes = Buffer.byteLength(JSON.stringify(value));
        if (bytes > largestValue)
          throw new InvalidOptionError(
            "value",
            `${bytes} bytes`,
            `Pass at most ${largestValue}, or split it into several items.`,
          );
        return writtenOf(await memory.put(namespace, key, value, { ifVersion, reason }));
      }),
  );

  server.registerTool(
    "memory_delete",
    {
      title: "Delete an item of the shared memory",
      description: `${where} Deletes an item. ${mine} ifVersion is as in memory_put. What was there stays in the history.`,
      inputSchema: z.object({
        namespace: fields.namespace,
        key: fields.key,
        ifVersion: fields.ifVersion,
        reason: fields.reason,
      }),
      outputSchema: written,
      annotations: { readOnlyHint: false, destructiveHint: true, idempotentHint: true, openWorldHint: false },
    },
    async ({ namespace, key, ifVersion, reason }) =>
      await answered(async () => writtenOf(await memory.delete(namespace, key, { ifVersion, reason }))),
  );
}

const written = z.object({
  ok: z.boolean().describe("false: the item has another version than ifVersion. Nothing was written."),
  version: z.number().optional().describe("The version of the change."),
  current: shownItem
    .nullable()
    .optional()
    .describe("The item as it is, if nothing was written; null: there is none."),
});

function isPlace(found: unknown): found is Place {
  return placeOfPage.safeParse(found).success;
}
