import type { TierSaver } from "@stratigraph/core";
import type { LoggedChange, StoredItem } from "@stratigraph/core/tier";
import type { Author } from "@stratigraph/workspace";
import { z } from "zod";
import { shown } from "../render/columns.ts";
import { cut } from "../values/cut.ts";
import { parsePath, wrongPath } from "../values/path.ts";
import { isRedacted } from "../values/records.ts";
import { redactedText, type Redaction } from "../values/redaction.ts";
import { resolve } from "../values/resolve.ts";
import { clipped, inlineText } from "../values/text.ts";
import { jsonOf, valueView, type ValueView } from "../values/view.ts";
import { itemText } from "./itemText.ts";

/** The least that a value gets of `maxBytes`. */
export const leastBytes = 200;

const author = z
  .object({
    agent: z.string().optional().describe("The agent or role that the workspace's handle names."),
    thread: z.string().optional(),
    run: z.string().optional(),
    checkpoint: z.string().optional().describe("The root graph's checkpoint from which the step began."),
    namespace: z.string().optional().describe("Of its subgraph."),
    node: z.string().optional(),
    task: z.string().optional(),
    toolCall: z.string().optional(),
  })
  .describe("Who made it: what is known of that.");

/** What is told of every change. */
const changed = {
  version: z.number(),
  at: z.string().describe("ISO 8601, by the storage's clock."),
  author,
  reason: z.string().optional(),
};

const address = {
  item: z.string().describe("Namespace and key as one text, as the input `item` takes it."),
  namespace: z.array(z.string()),
  key: z.string(),
};

/** An item as operations return it. */
export const shownItem = z.object({
  ...address,
  ...changed,
  created: z.string().describe("ISO 8601."),
  value: valueView,
});

export type ShownItem = z.output<typeof shownItem>;

/** A change of a log as operations return it. */
export const shownChange = z.object({
  ...changed,
  kind: z.enum(["put", "delete", "message"]),
  item: address.item.optional(),
  namespace: address.namespace.optional(),
  key: address.key.optional(),
  topic: z.string().optional().describe("Of a message to all subscribers of a topic."),
  to: z.string().optional().describe("Of a message to one agent."),
  value: valueView.optional().describe("The item's value, or the message's body. Absent in a deletion."),
});

export type ShownChange = z.output<typeof shownChange>;

/** How values are shown. */
export interface Showing {
  readonly saver: TierSaver;
  readonly workspace: string;
  readonly redaction: Redaction;
}

/** A stored item for people and programs. @param path only this part of the value @throws InvalidOptionError if it leads nowhere */
export async function itemOf(
  showing: Showing,
  stored: StoredItem,
  maxBytes: number,
  path?: string,
): Promise<ShownItem> {
  const { namespace, key, version, createdAtMs, updatedAtMs } = stored;
  return {
    item: itemText(stored),
    namespace: [...namespace],
    key,
    version,
    at: new Date(updatedAtMs).toISOString(),
    created: new Date(createdAtMs).toISOString(),
    ...(await noteOf(showing, stored)),
    value: await viewOf(showing, stored, maxBytes, path),
  };
}

/** A change of a log for people and programs. */
export async function changeOf(
  showing: Showing,
  change: LoggedChange,
  maxBytes: number,
): Promise<ShownChange> {
  const { namespace, key, version, atMs, kind, value } = change;
  const [, room, name] = namespace;
  const to = room === "topics" ? { topic: name! } : { to: name! };
  return {
    version,
    at: new Date(atMs).toISOString(),
    kind,
    ...(kind === "message" ? to : { item: itemText(change), namespace: [...namespace], key }),
    ...(await noteOf(showing, change)),
    ...(value === undefined ? {} : { value: await viewOf(showing, { ...change, value }, maxBytes) }),
  };
}

/** Values of redacted fields may be repeated in reasons. So these are hidden too. */
export async function noteOf(
  { saver, workspace, redaction }: Showing,
  change: Pick<StoredItem, "namespace" | "key" | "note">,
): Promise<{ author: Author; reason?: string }> {
  if (change.note === undefined) return { author: {} };
  const text = await saver.itemCoder.of(workspace).noteText(change, change.note);
  const { author: by, reason } = JSON.parse(text) as { author: Author; reason?: string };
  return {
    author: by,
    ...(reason === undefined ? {} : { reason: redaction.isActive ? redactedText : reason }),
  };
}

/** The JSON of a value without what is redacted, by paths such as `workspaces.trip.plan.days.hotel`. */
export async function shownJson(
  { saver, workspace, redaction }: Showing,
  stored: Pick<StoredItem, "namespace" | "key" | "value">,
): Promise<{ type: string; bytes: number; json?: { readonly value: unknown } }> {
  const decoded = await saver.itemCoder.of(workspace).decode(stored);
  const [type, bytes] = await saver.serde.dumpsTyped(decoded);
  const json = jsonOf([type, bytes]);
  if (json === undefined) return { type, bytes: bytes.length };
  const value = redaction.apply("workspaces", json.value, placeOf(workspace, stored));
  return { type, bytes: bytes.length, json: { value } };
}

/** Where a value is, for redaction. The labels of topics and inboxes begin with an empty one; a message has no name of its own. */
export function placeOf(
  workspace: string,
  { namespace, key }: Pick<StoredItem, "namespace" | "key">,
): string[] {
  return [workspace, ...namespace, key].filter((label) => label !== "");
}

async function viewOf(
  showing: Showing,
  stored: Pick<StoredItem, "namespace" | "key" | "value">,
  maxBytes: number,
  path?: string,
): Promise<ValueView> {
  const { json, ...known } = await shownJson(showing, stored);
  const found = json === undefined ? undefined : resolve(json.value, parsePath(path ?? ""));
  if (found !== undefined) return { ...known, value: cut(found, maxBytes) };
  if (path !== undefined) throw wrongPath(path, "It leads nowhere in the value of this item.");
  return known;
}

/** Who made a change, in a word. */
export function byText({ agent, node, thread, run }: Author): string {
  return agent ?? node ?? thread ?? run ?? "";
}

/** All that is known of who made a change, on one line. */
export function authorText({ agent, ...task }: Author): string {
  const known = Object.entries(task).map(([name, value]) => `${name} ${shown(String(value))}`);
  const by = agent === undefined ? [] : [shown(agent)];
  return [...by, ...known].join(", ") || "unknown";
}

/** A value on one line. */
export function valueText(view: ValueView | undefined, most: number): string {
  if (view === undefined) return "";
  return clipped(view.type === "json" || isRedacted(view.value) ? inlineText(view.value) : view.type, most);
}

/** What a change did, in two words. */
export function whatText({ kind, item, topic, to }: ShownChange): string {
  if (kind !== "message") return `${kind} ${item ?? ""}`;
  return topic === undefined ? `message to ${to ?? ""}` : `message on ${topic}`;
}
