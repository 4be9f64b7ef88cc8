import {
  diff as diffPoints,
  formatDiff,
  readPoint,
  type Change,
  type ChannelDiff,
} from "@stratigraph/branch";
import { NotFoundError, type TierSaver } from "@stratigraph/core";
import { z } from "zod";
import { shown } from "../render/columns.ts";
import { resolvePoint, type ResolvedPoint } from "../table/address.ts";
import { fields, maxBytes } from "../table/fields.ts";
import { operation } from "../table/operation.ts";
import { cut, isCut, shares } from "../values/cut.ts";
import type { Path } from "../values/path.ts";
import { isRedacted, redactedRecord, Redaction } from "../values/redaction.ts";
import { showDiffering } from "./differing.ts";

/** The least that a value gets of `maxBytes`, so that one sees what it is. */
const leastBytes = 100;

const change = z.object({
  kind: z.enum(["added", "removed", "changed"]),
  path: z.string().describe('A JSON pointer, or #id for an item with an id; "" is the value itself.'),
  before: z
    .unknown()
    .optional()
    .describe(
      'Plain JSON. {"lc":2,"type":"sg:cut"} stands for what was left out. With `skips`, so many characters that both sides begin with are left out, too.',
    ),
  after: z.unknown().optional().describe("As before."),
});

const channel = z.object({
  name: z.string(),
  kind: z.enum(["added", "removed", "changed"]),
  changes: z.array(change),
  omitted: z.number().describe("How many further changes aren't listed."),
});

type Channel = z.output<typeof channel>;

const side = z.object({ threadId: z.string(), namespace: z.string(), checkpointId: z.string() });

/** Shows what differs between two checkpoints. */
export const diff = operation({
  name: "diff",
  group: "look",
  effect: "read",
  summary: "Show what differs between two checkpoints of any threads, or what one step changed.",
  examples: [
    "stratigraph diff ada@step:3",
    "stratigraph diff ada@head~2 ada",
    "stratigraph diff ada ada/what-if-1",
  ],
  args: ["from", "to"],
  input: z.object({
    from: fields.at,
    to: z
      .string()
      .min(1)
      .optional()
      .describe(
        "The other checkpoint. Default: the first one is compared with the checkpoint it was made from.",
      ),
    namespace: fields.namespace,
    fromCheckpoint: fields.checkpoint,
    toCheckpoint: fields.checkpoint,
    limit: z.coerce
      .number()
      .int()
      .min(1)
      .max(10_000)
      .default(200)
      .describe("How many changes of a channel to list at most."),
    maxBytes: maxBytes(
      "How much of the values to show in all, in bytes. What is longer is cut, in equal shares.",
    ),
  }),
  output: z.object({ a: side, b: side, channels: z.array(channel) }),
  async run({ from, to, namespace, fromCheckpoint, toCheckpoint, limit, maxBytes }, context) {
    const saver = await context.saver();
    const one = await resolvePoint(saver, { at: from, namespace, checkpoint: fromCheckpoint });
    const [a, b] =
      to === undefined
        ? [await parentOf(saver, one), one]
        : [one, await resolvePoint(saver, { at: to, namespace, checkpoint: toCheckpoint })];
    const found = await diffPoints(saver, a, b);
    const redaction = new Redaction(context.redact);
    const channels = found.channels.map((each) => listed(each, limit, redaction));
    return { a: found.a, b: found.b, channels: cutChannels(channels, maxBytes) };
  },
  *render({ a, b, channels }) {
    const where = (at: z.output<typeof side>): string => shown(`${at.threadId} ${at.checkpointId}`);
    yield `${where(a)} → ${where(b)}`;
    for (const each of channels) {
      const changes = each.changes.map((one) => ({ ...one, ...plainSides(one) }));
      const text = formatDiff({ a, b, channels: [{ ...each, changes }] });
      for (const line of text.split("\n")) yield shown(line);
      if (each.omitted > 0) yield `    … ${each.omitted} more changes`;
    }
    if (channels.length === 0) yield "no difference";
  },
  found: ({ channels }) => channels.length > 0,
});

async function parentOf(saver: TierSaver, at: ResolvedPoint): Promise<ResolvedPoint> {
  const { stored } = await readPoint(saver, at);
  const { parentId } = stored.record;
  if (parentId !== undefined) return { ...at, checkpointId: parentId };
  throw new NotFoundError(
    `Checkpoint ${at.checkpointId} of thread ${JSON.stringify(at.threadId)} is the first one, so it changed nothing. "stratigraph show" shows what it holds.`,
    { ...at },
  );
}

function listed({ name, kind, changes }: ChannelDiff, limit: number, redaction: Redaction): Channel {
  const told = redaction.isActive ? unhidden(name, changes, redaction) : changes;
  const kept = told.slice(0, limit);
  return { name, kind, changes: kept, omitted: told.length - kept.length };
}

/** Changes without what is redacted. All that are behind one hidden place are one change of it. */
function unhidden(channel: string, changes: readonly Change[], redaction: Redaction): Change[] {
  const found = new Map<string, Change>();
  for (const [n, each] of changes.entries()) {
    const places = placesOf(each.path);
    const redacted = (value: unknown): unknown =>
      places.reduce<unknown>((left, { at }) => redaction.apply(channel, left, at), value);
    const ends = places.map(({ at, ends: of }) => [0, ...of][redaction.shownSteps(channel, at)]!);
    const end = Math.min(each.path.length, ...ends);
    if (end < each.path.length) {
      const path = each.path.slice(0, end);
      found.set(`hidden ${path}`, { kind: "changed", path, before: redactedRecord, after: redactedRecord });
    } else
      found.set(`${n}`, {
        ...each,
        ...("before" in each ? { before: redacted(each.before) } : {}),
        ...("after" in each ? { after: redacted(each.after) } : {}),
      });
  }
  return [...found.values()];
}

/** Where a change may be, and for each of the steps how long the path is up to its end. */
interface Place {
  readonly at: Path;
  readonly ends: readonly number[];
}

/** What a path of a diff may mean: a # behind a pointer may begin an id, or be part of a property's name. All of it is redacted. */
function placesOf(path: string): Place[] {
  const isItem = path.startsWith("#");
  const marks = isItem ? [0] : [...path.matchAll(/#/g)].map(({ index }) => index);
  const items = marks.map((mark) => {
    const { at, ends } = pointer(path.slice(0, mark));
    // Where in its list an item with an id stands isn't told.
    return { at: [...at, "*"], ends: [...ends, path.length] };
  });
  return isItem ? items : [pointer(path), ...items];
}

function pointer(text: string): Place {
  const steps = [...text.matchAll(/\/([^/]*)/g)];
  return {
    at: steps.map(([, key]) => key!.replaceAll("~1", "/").replaceAll("~0", "~")),
    ends: steps.map(({ index, 0: step }) => index + step.length),
  };
}

function cutChannels(channels: readonly Channel[], maxBytes: number): Channel[] {
  const sides = channels.flatMap(({ changes }) =>
    changes.flatMap((each) =>
      (["before", "after"] as const).filter((name) => name in each).map((name) => each[name]),
    ),
  );
  const sizes = sides.map((value) => Buffer.byteLength(JSON.stringify(value)));
  const given = shares(sizes, maxBytes);
  let next = 0;
  const fitting = (value: unknown): unknown => {
    const budget = Math.max(leastBytes, given[next++]!);
    return cut({ value, path: [], from: 0 }, budget);
  };
  return channels.map((each) => ({
    ...each,
    changes: each.changes.map((one) => {
      const before = "before" in one ? fitting(one.before) : undefined;
      const after = "after" in one ? fitting(one.after) : undefined;
      if (one.kind !== "changed")
        return { ...one, ...("before" in one ? { before } : {}), ...("after" in one ? { after } : {}) };
      const sides = showDiffering({ whole: one.before, cut: before }, { whole: one.after, cut: after });
      return { ...one, before: sides[0], after: sides[1] };
    }),
  }));
}

function plainSides({ before, after }: z.output<typeof change>): { before: unknown; after: unknown } {
  return { before: plain(before), after: plain(after) };
}

/** JSON in which what was left out is text, as {@link formatDiff} knows nothing of it. */
function plain(value: unknown): unknown {
  if (isCut(value))
    return value.begins === undefined
      ? `… ${value.items} more`
      : `${"skips" in value ? "…" : ""}${value.begins}…`;
  if (isRedacted(value)) return "(redacted)";
  if (Array.isArray(value)) return value.map(plain);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, part]) => [key, plain(part)]));
}
