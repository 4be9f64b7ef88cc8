// long file: the columns of a history and what each is made of, best read together
import { lineage } from "@stratigraph/branch";
import { forksOf, Lanes } from "@stratigraph/branch/internal";
import type { TierSaver } from "@stratigraph/core";
import { decodeCursor, encodeCursor, outlineOf, withoutBytes } from "@stratigraph/core/internal";
import type { Namespace } from "@stratigraph/core/tier";
import { z } from "zod";
import { shown, table } from "../render/columns.ts";
import { bytesText, timeText } from "../render/units.ts";
import { waitsText } from "../render/words.ts";
import { partNote, unlessEvicted } from "./archivedPart.ts";
import { resolvePoint } from "../table/address.ts";
import { fields, flag } from "../table/fields.ts";
import { operation } from "../table/operation.ts";
import { addedBytes } from "./addedBytes.ts";
import { nodesBetween } from "./nodes.ts";
import { Records, type OpenedRecord, shownVersion } from "./records.ts";
import { shortIds } from "./shortIds.ts";
import { tiersHolding } from "./tiersHolding.ts";
import { waits, waitsAt } from "./waitsAt.ts";

/** How many forks of a thread are looked at for one page at most. Each takes two reads. */
const mostForks = 200;

/** How many lanes of a tree a cursor keeps at most. */
const mostLanes = 64;

/** How many namespaces of subgraphs are returned at most. */
const mostNamespaces = 200;

const item = z.object({
  checkpoint: z.string(),
  short: z
    .string()
    .describe("The shortest beginning of the id that no other checkpoint of the namespace has."),
  parents: z
    .array(z.string())
    .describe(
      "First the checkpoint it was made from, then those that were merged into it, also from other threads.",
    ),
  merges: z
    .array(z.object({ thread: z.string(), checkpoint: z.string() }))
    .describe("What was merged into it, and from which thread."),
  drawn: z.array(z.string()).describe("The parents that are further down in this history."),
  step: z.number().optional(),
  source: z.string().optional().describe("input, loop, update or fork."),
  nodes: z.array(z.string()).describe("The nodes that ran between its parent and it."),
  run: z.string().optional(),
  stateVersion: z
    .number()
    .optional()
    .describe("The version of the application's state that it was written under, unless it is 1."),
  ts: z.string().describe("ISO 8601."),
  bytes: z
    .number()
    .describe("What it added to the storage: record, pending writes and new values, as stored."),
  tiers: z
    .array(z.string())
    .describe("The tiers of a stack that hold it: hot, warm, cold, each with its name."),
  head: z.boolean(),
  lostTo: z.string().optional().describe("The head that it lost a race to."),
  waits,
  edited: z.array(z.string()).describe("The channels that were set by hand."),
  forks: z.array(z.string()).describe("Threads that were forked from here."),
});

type Item = z.output<typeof item>;

type Origin = { readonly thread: string; readonly checkpoint: string } | undefined;

const place = z.object({ before: z.string(), lanes: z.array(z.string().nullable()) });

type Place = z.output<typeof place>;

/** Shows the history of a thread. */
export const history = operation({
  name: "history",
  group: "look",
  effect: "read",
  summary: "Show the history of a thread as a tree, newest first: branches, lost races, merges and forks.",
  examples: ["stratigraph history ada", "stratigraph history ada -n 20"],
  args: ["thread"],
  input: z.object({
    thread: fields.thread,
    namespace: fields.namespace,
    namespaces: flag("Also tell which namespaces of subgraphs the thread has."),
    limit: fields.limit,
    cursor: fields.cursor,
  }),
  output: z.object({
    thread: z.string(),
    namespace: z.string(),
    origin: z
      .object({ thread: z.string(), checkpoint: z.string() })
      .optional()
      .describe("Where the thread was forked from another one."),
    note: z
      .string()
      .optional()
      .describe(
        "If the head isn't here: where it is, or that it is lost. If a part of the thread is in an archive that isn't open: that.",
      ),
    items: z.array(item),
    lanes: z
      .array(z.string().nullable())
      .describe(
        "For the lanes of the tree, from left to right: the checkpoint that each one expects next at the beginning of this page.",
      ),
    namespaces: z
      .array(z.string())
      .optional()
      .describe(`The namespaces of subgraphs, if asked for; ${mostNamespaces} at most.`),
    missing: z.array(z.string()).describe("Tiers that didn't answer, so that it isn't known what they hold."),
    forksCut: z
      .boolean()
      .describe(`Only ${mostForks} forks were looked at, or a damaged thread may be one: there may be more.`),
    cursor: z.string().optional().describe("Where the next page begins."),
  }),
  async run({ thread, namespace, namespaces, limit, cursor }, context) {
    const saver = await context.saver();
    const { threadId } = await resolvePoint(saver, { at: thread, namespace });
    const at = { threadId, namespace };
    const place = cursor === undefined ? undefined : placeOf(cursor);
    const before = place?.before;
    const records = new Records(saver, at);
    const found = await records.page(before, limit + 1);
    const note = place === undefined ? await headNote(saver, at, found) : undefined;
    // The main line has the first lane, even if other checkpoints are newer than the head.
    const lanes = place?.lanes ?? [found[0]?.head ?? null];
    const page = found.slice(0, limit);
    const ids = found.map(({ record }) => record.checkpointId);
    const short = shortIds(ids, before);
    const [[origin], added, tiers, forks] = await Promise.all([
      namespace === "" ? lineage(saver, threadId).catch(unlessEvicted) : [],
      addedBytes(saver.tier, threadId, page, (id) => records.find(id)),
      tiersHolding(saver.tier, at, before, ids.slice(0, limit)),
      namespace === ""
        ? forksFrom(saver, threadId, new Set(ids))
        : { of: new Map<string, string[]>(), cut: false },
    ]);
    const items: Item[] = [];
    for (const opened of page) {
      const { checkpointId } = opened.record;
      items.push({
        ...(await itemOf(saver, at, records, opened)),
        short: short.get(checkpointId)!,
        bytes: added.get(checkpointId)!,
        tiers: tiers.of.get(checkpointId) ?? [],
        forks: forks.of.get(checkpointId) ?? [],
      });
    }
    const next = found.length > limit ? { cursor: cursorAfter(items, lanes) } : {};
    const from =
      origin === undefined ? {} : { origin: { thread: origin.threadId, checkpoint: origin.checkpointId } };
    return {
      namespace,
      thread: threadId,
      ...from,
      ...(note === undefined ? {} : { note }),
      items,
      lanes,
      ...(namespaces ? { namespaces: await subgraphsOf(saver, threadId) } : {}),
      missing: tiers.missing,
      forksCut: forks.cut,
      ...next,
    };
  },
  *render({ thread, origin, note, items, lanes, namespaces = [], missing, forksCut, cursor }) {
    if (items.length === 0 && cursor === undefined) {
      yield `No checkpoints of ${JSON.stringify(thread)} are here.`;
      return;
    }
    if (note !== undefined) yield note;
    const now = Date.now();
    const tree = new Lanes(lanes.map((id) => id ?? undefined));
    const rows = items.flatMap((each) => {
      const { join, row } = tree.draw({ checkpointId: each.checkpoint, parents: each.drawn });
      return [...(join === undefined ? [] : [[join, ...empty]]), [row, ...cells(each, origin, now)]];
    });
    yield* table(headings, rows);
    for (const tier of missing) yield `The tier ${tier} didn't answer: what it holds isn't shown.`;
    if (namespaces.length > 0) {
      yield `Namespaces of subgraphs; "stratigraph subagents" tells more of each:`;
      for (const each of namespaces) yield `  ${shown(each)}`;
    }
    if (forksCut) yield "Not all forks were looked at; there may be more.";
    if (cursor !== undefined) yield `More with --cursor ${cursor}`;
  },
});

const headings = ["", "CHECKPOINT", ">STEP", "BY", ">WRITTEN", ">ADDED", "TIERS", "RUN", ""];
const empty: readonly string[] = headings.slice(1).map(() => "");

function cells(each: Item, origin: Origin, now: number): string[] {
  const { short, step, ts, bytes, tiers, run } = each;
  return [
    short,
    step === undefined ? "?" : String(step),
    by(each),
    `${timeText(now - Date.parse(ts))} ago`,
    bytesText(bytes),
    tiers.map((tier) => tier.replace(/:.*/s, "")).join(" "),
    run === undefined || run.length <= 13 ? (run ?? "") : `${run.slice(0, 12)}…`,
    notes(each, origin).join("; "),
  ];
}

function by({ source = "?", nodes }: Item): string {
  if (nodes.length === 0) return source;
  return source === "loop" ? nodes.join(", ") : `${source} as ${nodes.join(", ")}`;
}

function notes(
  { checkpoint, head, lostTo, waits, parents, drawn, edited, forks }: Item,
  origin: Origin,
): string[] {
  const [parent, ...merged] = parents;
  const isOrigin = checkpoint === origin?.checkpoint;
  const gone = parent !== undefined && !drawn.includes(parent) && !isOrigin;
  return [
    ...(head ? ["head"] : []),
    ...(waits === undefined ? [] : [waits === "interrupt" ? waitsText : "failed"]),
    ...(lostTo === undefined ? [] : ["lost a race"]),
    ...(merged.length === 0 ? [] : [`merges ${merged.join(", ")}`]),
    ...(edited.length === 0 ? [] : [`set ${edited.join(", ")}`]),
    ...(isOrigin ? [`forked from ${origin.thread}`] : []),
    ...(gone ? [`from ${parent}, which isn't here`] : []),
    ...forks.map((fork) => `fork ${fork}`),
  ];
}

/**
 * What a first page doesn't show by itself: that the head isn't here, or that a part of the thread isn't.
 * @throws EvictedError, CorruptionError if nothing is
 */
async function headNote(
  { tier }: TierSaver,
  at: Namespace,
  [newest]: readonly OpenedRecord[],
): Promise<string | undefined> {
  const head = newest === undefined ? (await tier.peek(at)).head : newest.head;
  if (head === undefined || (newest !== undefined && newest.record.checkpointId >= head))
    return await partNote(tier, at.threadId);
  const error = await withoutBytes(tier, { ...at, checkpointId: head });
  if (newest === undefined) throw error;
  return error.message;
}

async function subgraphsOf(saver: TierSaver, threadId: string): Promise<string[]> {
  const { heads } = await outlineOf(saver.tier, threadId);
  return [...heads.keys()].sort().slice(0, mostNamespaces);
}

async function itemOf(
  saver: TierSaver,
  { threadId, namespace }: Namespace,
  records: Records,
  opened: OpenedRecord,
): Promise<Omit<Item, "short" | "bytes" | "tiers" | "forks">> {
  const { record, body, metadata, head } = opened;
  const { checkpointId, parentId, runId, lostTo } = record;
  const parent = parentId === undefined ? undefined : await records.find(parentId);
  const merged = namespace === "" ? mergedInto(metadata) : [];
  const drawn = parent === undefined ? [] : [parent.record.checkpointId];
  for (const { thread_id, checkpoint_id } of merged)
    if (thread_id === threadId && (await records.find(checkpoint_id)) !== undefined)
      drawn.push(checkpoint_id);
  const { step, source } = metadata;
  return {
    checkpoint: checkpointId,
    parents: [
      ...(parentId === undefined ? [] : [parentId]),
      ...merged.map(({ checkpoint_id }) => checkpoint_id),
    ],
    merges: merged.map(({ thread_id, checkpoint_id }) => ({ thread: thread_id, checkpoint: checkpoint_id })),
    // If a clock was set back, a parent may be listed above its child, where its lane has already ended.
    drawn: drawn.filter((id) => id < checkpointId),
    nodes: parent === undefined ? [] : await nodesBetween(saver, parent, opened),
    ...shownVersion(body),
    ts: body.header.ts,
    head: head === checkpointId,
    edited: editedIn(metadata),
    ...(typeof step === "number" ? { step } : {}),
    ...(typeof source === "string" ? { source } : {}),
    ...(runId === undefined ? {} : { run: runId }),
    ...(lostTo === undefined ? {} : { lostTo }),
    ...(await waitsAt(saver, opened)),
  };
}

function mergedInto(
  metadata: Readonly<Record<string, unknown>>,
): { thread_id: string; checkpoint_id: string }[] {
  const { sources } = Object(metadata["merge"]) as { sources?: unknown };
  return Array.isArray(sources) ? (sources as { thread_id: string; checkpoint_id: string }[]) : [];
}

function editedIn(metadata: Readonly<Record<string, unknown>>): string[] {
  const { channels } = Object(metadata["edit"]) as { channels?: unknown };
  return Array.isArray(channels) ? channels.map(String) : [];
}

async function forksFrom(
  saver: TierSaver,
  threadId: string,
  checkpoints: ReadonlySet<string>,
): Promise<{ of: Map<string, string[]>; cut: boolean }> {
  const of = new Map<string, string[]>();
  let looked = 0;
  let cut = false;
  for await (const { threadId: fork, from } of forksOf(saver, threadId, () => (cut = true))) {
    if (looked === mostForks) return { of, cut: true };
    looked += 1;
    if (from !== undefined && checkpoints.has(from)) of.set(from, [...(of.get(from) ?? []), fork]);
  }
  return { of, cut };
}

function cursorAfter(items: readonly Item[], lanes: readonly (string | null)[]): string {
  const tree = new Lanes(lanes.map((id) => id ?? undefined));
  for (const { checkpoint, drawn } of items) tree.draw({ checkpointId: checkpoint, parents: drawn });
  const open = tree.open.slice(0, mostLanes).map((id) => id ?? null);
  return encodeCursor({ before: items.at(-1)!.checkpoint, lanes: open } satisfies Place);
}

function placeOf(cursor: string): Place {
  const isPlace = (value: unknown): value is Place => place.safeParse(value).success;
  return decodeCursor(cursor, isPlace, "Pass the cursor of the previous page unchanged.");
}
