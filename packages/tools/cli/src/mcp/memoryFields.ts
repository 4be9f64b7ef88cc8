import type { WorkspaceEvent, WorkspaceItem } from "@stratigraph/workspace";
import { z } from "zod";

/** The longest value that a tool puts, as JSON, in bytes. */
export const largestValue = 1_000_000;

/** The longest page, as JSON, in bytes. */
const longestPage = 4_000_000;

const labels = z.array(z.string());

/** Input fields of the memory's tools. */
export const memoryFields = {
  namespace: labels.min(1).describe('Where the item lies: ["shared", "facts"].'),
  key: z.string().min(1).describe("The item's name in its namespace."),
  prefix: labels.optional().describe("Only items of namespaces that begin with these labels. Default: all."),
  limit: z.number().int().min(1).max(100).default(20).describe("How many at most."),
  cursor: z.string().max(2000).optional().describe("The `cursor` of the page before."),
  ifVersion: z
    .number()
    .int()
    .min(0)
    .optional()
    .describe("Only if the item has this version; 0: only if there is no such item."),
  reason: z.string().min(1).max(2000).optional().describe("Why, for the history."),
  maxBytes: (otherwise: number, description: string) =>
    z
      .number()
      .int()
      .min(1000)
      .max(longestPage)
      .default(otherwise)
      .describe(`${description} In bytes of JSON.`),
};

const about = {
  version: z.number().describe("Larger than those of all earlier changes of the memory."),
  author: z.record(z.string(), z.unknown()).describe("Who wrote it: its agent, and the task of a graph."),
  reason: z.string().optional().describe("Why it was written."),
};

const valued = {
  value: z.record(z.string(), z.unknown()).optional().describe("Absent if it is too long for this page."),
  bytes: z
    .number()
    .optional()
    .describe(
      "The size of a value that is too long for this page. Read it by memory_get with a larger maxBytes.",
    ),
};

/** An item as the tools show it. */
export const shownItem = z.object({
  namespace: labels,
  key: z.string(),
  ...valued,
  ...about,
  createdAt: z.string(),
  updatedAt: z.string(),
});

/** A change as the tools show it. */
export const shownChange = z.object({
  kind: z.enum(["put", "delete"]),
  namespace: labels,
  key: z.string(),
  ...valued,
  ...about,
  at: z.string().describe("When it was made."),
});

export function itemOf(item: WorkspaceItem, maxBytes: number): z.output<typeof shownItem> {
  const { namespace, key, version, author, reason, createdAt, updatedAt } = item;
  return {
    ...{ namespace, key, version, author: { ...author } },
    ...(reason !== undefined && { reason }),
    ...{ createdAt: createdAt.toISOString(), updatedAt: updatedAt.toISOString() },
    ...valueOf(item.value, maxBytes),
  };
}

/** A change; nothing of a message. */
export function changeOf(event: WorkspaceEvent, maxBytes: number): z.output<typeof shownChange>[] {
  if (event.kind === "message") return [];
  const { kind, namespace, key, version, author, reason, at } = event;
  return [
    {
      ...{ kind, namespace, key, version, author: { ...author }, at: at.toISOString() },
      ...(reason !== undefined && { reason }),
      ...(event.kind === "put" && valueOf(event.value, maxBytes)),
    },
  ];
}

function valueOf(
  value: Record<string, unknown>,
  maxBytes: number,
): { value: Record<string, unknown> } | { bytes: number } {
  const text = JSON.stringify(value);
  const bytes = Buffer.byteLength(text);
  return bytes > maxBytes ? { bytes } : { value: JSON.parse(text) as Record<string, unknown> };
}
