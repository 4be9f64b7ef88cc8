import { isRedacted, redactedRecord } from "../values/records.ts";
import { formatDiff, type Change, type ChannelDiff } from "@stratigraph/branch";
import { z } from "zod";
import { shown } from "../render/columns.ts";
import { cut, isCut, shares } from "../values/cut.ts";
import type { Path } from "../values/path.ts";
import type { Redaction } from "../values/redaction.ts";
import { showDiffering } from "./differing.ts";

/** Each value gets at least this share of `maxBytes`, in bytes, so that it can be recognised. */
const leastBytes = 100;

/** One difference, as operations return it. */
export const change = z.object({
  kind: z.enum(["added", "removed", "changed"]),
  path: z.string().describe('A JSON pointer, or #id for an item with an id; "" is the value itself.'),
  before: z
    .unknown()
    .optional()
    .describe(
      'Plain JSON. {"lc":2,"type":"sg:cut"} stands for what was left out. `skips` says how many characters at the beginning, equal on both sides, were left out, too.',
    ),
  after: z.unknown().optional().describe("As before."),
});

/** What differs in one value. */
export const differences = z.object({
  changes: z.array(change),
  omitted: z.number().describe("How many further changes aren't listed."),
});

type Differences = z.output<typeof differences>;

/** Lists changes of a channel, or of a part of it, without what is redacted. @param at where in the channel the part is */
export function listed(
  channel: string,
  changes: readonly Change[],
  limit: number,
  redaction: Redaction,
  at: Path = [],
): Differences {
  const told = redaction.isActive ? unhidden(channel, changes, redaction, at) : changes;
  const kept = told.slice(0, limit);
  return { changes: kept, omitted: told.length - kept.length };
}

/** Changes without what is redacted. All changes below one hidden place count as one change of that place. */
function unhidden(channel: string, changes: readonly Change[], redaction: Redaction, part: Path): Change[] {
  const found = new Map<string, Change>();
  for (const [n, each] of changes.entries()) {
    const places = placesOf(each.path);
    const redacted = (value: unknown): unknown =>
      places.reduce<unknown>((left, { at }) => redaction.apply(channel, left, [...part, ...at]), value);
    const ends = places.map(({ at, ends: of }) => {
      const steps = redaction.shownSteps(channel, [...part, ...at]) - part.length;
      return [0, ...of][Math.max(0, steps)]!;
    });
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

/** A place where a change may be, and for each step the length of the path up to its end. */
interface Place {
  readonly at: Path;
  readonly ends: readonly number[];
}

/**
 * The places that a path of a diff may mean: a # in it may begin an id, or be part of a property's name. Redaction applies to all of
 * them.
 */
function placesOf(path: string): Place[] {
  const isItem = path.startsWith("#");
  const marks = isItem ? [0] : [...path.matchAll(/#/g)].map(({ index }) => index);
  const items = marks.map((mark) => {
    const { at, ends } = pointer(path.slice(0, mark));
    // The path doesn't say at which position of its list an item with an id is.
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

/** Cuts the values of all changes to about `maxBytes` in total, so that the differences are seen. */
export function cutChanges<T extends Differences>(channels: readonly T[], maxBytes: number): T[] {
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

/** Differences as lines for a terminal. */
export function* changeLines(
  name: string,
  kind: ChannelDiff["kind"],
  { changes, omitted }: Differences,
): Generator<string> {
  const plainChanges = changes.map((each) => ({
    ...each,
    before: plain(each.before),
    after: plain(each.after),
  }));
  const text = formatDiff({ channels: [{ name, kind, changes: plainChanges }] });
  for (const line of text.split("\n")) yield shown(line);
  if (omitted > 0) yield `    … ${omitted} more changes`;
}

/** JSON in which left-out parts are replaced by texts, because {@link formatDiff} doesn't know their records. */
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
