import { Storages, type ThreadInfo, type TierSaver } from "@stratigraph/core";
import { z } from "zod";
import { columns, shown, table } from "../render/columns.ts";
import { bytesText } from "../render/units.ts";
import { resolveThread } from "../table/address.ts";
import type { Context } from "../table/context.ts";
import { fields } from "../table/fields.ts";
import { operation } from "../table/operation.ts";
import { measureThread, type Measured } from "./measureThread.ts";

/** How many threads of a storage are counted at most. */
const mostCounted = 20_000;

/** How many states of each thread are read when a storage is measured. */
const statesPerThread = 3;

/** How many channels, namespaces and days are listed at most. */
const mostListed = 20;

const day = 86_400_000;

const count = z.number();
const bytes = z.number().describe("Bytes as stored.");

const output = z.object({
  thread: z.string().optional().describe("Absent for a storage."),
  estimated: z
    .boolean()
    .describe("Some threads were measured, and the figures projected from them to all that were counted."),
  threads: z.object({
    counted: count,
    complete: z.boolean().describe("False: there are more, which are in no figure."),
    evicted: count.describe("Of which only the heads are here."),
    measured: count,
    failed: count.describe(
      "Threads that couldn't be read. They are in no figure: verify tells what they lack.",
    ),
  }),
  checkpoints: count,
  bytes: z.object({ records: bytes, writes: bytes, values: bytes, total: bytes }),
  states: z.object({
    bytes: count.describe("What all states would take if each were stored whole and uncompressed, in bytes."),
    sampled: z.boolean().describe("Told from some of the states."),
    ratio: count.optional().describe("How many times as much that is as what is stored."),
  }),
  channels: z
    .array(z.object({ channel: z.string(), values: count, bytes }))
    .describe('The largest channels. "": values of pending writes, and what other values are patches on.'),
  namespaces: z.array(z.object({ namespace: z.string(), checkpoints: count })).describe("The largest ones."),
  tiers: z.array(
    z.object({ tier: z.string(), role: z.string(), checkpoints: count, bytes, error: z.string().optional() }),
  ),
  chains: z.object({
    whole: count.describe("Values that are stored whole."),
    patches: count.describe("Values that are stored as patches on others."),
    mean: count.describe("How many patches it takes to read a value, on average."),
    longest: count,
  }),
  growth: z.object({
    days: z
      .array(z.object({ day: z.string(), checkpoints: count, bytes }))
      .describe("What was added on a day (UTC) and is still there. The newest days."),
    perDay: bytes.describe("Average of the last 7 days."),
  }),
  frees: z.object({
    prune: z.object({ keepLast: count, checkpoints: count, bytes }),
    archive: z
      .object({ idleDays: count, threads: count, bytes })
      .describe(
        "What archiving the threads that nobody wrote to for so long would take out of the warm tier.",
      ),
  }),
});

type Output = z.output<typeof output>;

/** Tells how much is stored. */
export const stats = operation({
  name: "stats",
  group: "look",
  effect: "read",
  summary: "Tell how much a thread or the whole storage takes, how it grows, and what pruning would free.",
  examples: ["stratigraph stats", "stratigraph stats ada", "stratigraph stats --keep-last 10 --sample 500"],
  args: ["thread"],
  input: z.object({
    thread: fields.thread.optional().describe("Only this thread. Default: the whole storage."),
    keepLast: z.coerce
      .number()
      .int()
      .min(1)
      .default(1)
      .describe("How many checkpoints of each namespace pruning would keep."),
    idleDays: z.coerce
      .number()
      .min(0)
      .default(30)
      .describe("After how many idle days a thread would be archived."),
    sample: z.coerce
      .number()
      .int()
      .min(1)
      .max(mostCounted)
      .default(100)
      .describe(`How many threads of a storage to measure. At most ${mostCounted} are counted.`),
  }),
  output,
  async run({ thread, keepLast, idleDays, sample }, context) {
    const saver = await context.saver();
    const idleBeforeMs = Date.now() - idleDays * day;
    const found =
      thread === undefined
        ? await countThreads(saver, context)
        : { threads: [await infoOf(saver, await resolveThread(saver, thread))], complete: true };
    const chosen = spread(found.threads, sample);
    const measured: { info: ThreadInfo; measured: Measured }[] = [];
    const storages = new Storages(saver.tier);
    let looked = 0;
    let failed = 0;
    for (const info of chosen) {
      if (context.signal.aborted) break;
      looked += 1;
      try {
        const states = thread === undefined ? { states: statesPerThread } : {};
        measured.push({
          info,
          measured: await measureThread(saver, storages, info.threadId, { keepLast, ...states }),
        });
      } catch (error) {
        if (thread !== undefined) throw error;
        failed += 1;
      }
      context.progress({ done: looked, total: chosen.length, unit: "threads", at: info.threadId });
    }
    const total = new Total(found.threads.length, measured, idleBeforeMs);
    const threads = {
      counted: found.threads.length,
      complete: found.complete,
      evicted: found.threads.filter(({ evicted }) => evicted).length,
      measured: measured.length,
      failed,
    };
    const idle = found.threads.filter(
      ({ writtenAtMs, evicted }) => !evicted && writtenAtMs < idleBeforeMs,
    ).length;
    return {
      ...(thread === undefined ? {} : { thread: measured[0]!.info.threadId }),
      estimated: measured.length < found.threads.length,
      threads,
      ...total.figures(),
      frees: {
        prune: { keepLast, ...total.pruned() },
        archive: { idleDays, threads: idle, bytes: total.idleBytes() },
      },
    };
  },
  *render(found) {
    yield* summaryLines(found);
    const { channels, namespaces, tiers, growth } = found;
    yield* section(
      ["CHANNEL", ">VALUES", ">BYTES"],
      channels.map(({ channel, values, bytes }) => [
        channel === "" ? "(pending writes, patch bases)" : channel,
        String(values),
        bytesText(bytes),
      ]),
    );
    if (namespaces.length > 1)
      yield* section(
        ["NAMESPACE", ">CHECKPOINTS"],
        namespaces.map(({ namespace, checkpoints }) => [
          namespace === "" ? "(root)" : namespace,
          String(checkpoints),
        ]),
      );
    yield* section(
      ["TIER", "ROLE", ">CHECKPOINTS", ">BYTES", ""],
      tiers.map(({ tier, role, checkpoints, bytes, error = "" }) => [
        tier,
        role,
        String(checkpoints),
        bytesText(bytes),
        error,
      ]),
    );
    yield* section(
      ["DAY", ">CHECKPOINTS", ">ADDED"],
      growth.days.map(({ day, checkpoints, bytes }) => [day, String(checkpoints), bytesText(bytes)]),
    );
  },
});

function* section(headings: readonly string[], rows: readonly (readonly string[])[]): Iterable<string> {
  if (rows.length === 0) return;
  yield "";
  yield* table(headings, rows);
}

function* summaryLines({
  thread,
  estimated,
  threads,
  checkpoints,
  bytes,
  states,
  chains,
  growth,
  frees,
}: Output): Iterable<string> {
  const about = (text: string): string => (estimated ? `about ${text}` : text);
  const { prune, archive } = frees;
  const ratio = states.ratio === undefined ? "" : `, ${states.ratio.toFixed(1)} times as much`;
  const rows = [
    thread === undefined
      ? [
          "threads",
          `${threads.counted}${threads.complete ? "" : " counted, and there are more"}${threads.evicted === 0 ? "" : `, ${threads.evicted} evicted`}`,
        ]
      : ["thread", thread],
    ["checkpoints", about(String(checkpoints))],
    [
      "stored",
      about(
        `${bytesText(bytes.total)}: values ${bytesText(bytes.values)}, records ${bytesText(bytes.records)}, pending writes ${bytesText(bytes.writes)}`,
      ),
    ],
    ["as whole states", `${estimated || states.sampled ? "about " : ""}${bytesText(states.bytes)}${ratio}`],
    [
      "patches",
      about(
        `${chains.patches} of ${chains.patches + chains.whole} values; ${chains.mean.toFixed(1)} to read one, ${chains.longest} at most`,
      ),
    ],
    ["growth", about(`${bytesText(growth.perDay)} a day in the last 7 days`)],
    [
      "pruning frees",
      about(
        `${bytesText(prune.bytes)}: ${prune.checkpoints} checkpoints, if ${prune.keepLast} of each namespace ${prune.keepLast === 1 ? "stays" : "stay"}`,
      ),
    ],
    [
      "archiving frees",
      about(`${bytesText(archive.bytes)}: ${archive.threads} threads idle for ${archive.idleDays} days`),
    ],
  ];
  yield* columns(rows);
  if (estimated)
    yield shown(
      `Measured ${threads.measured} threads, and projected to ${threads.counted}. More with --sample.`,
    );
  if (threads.failed > 0) yield `${threads.failed} threads couldn't be read: run "stratigraph verify".`;
}

async function countThreads(
  saver: TierSaver,
  context: Context,
): Promise<{ threads: ThreadInfo[]; complete: boolean }> {
  const threads: ThreadInfo[] = [];
  for await (const { headRecord: _record, ...info } of saver.tier.threads({
    order: "newest",
    limit: mostCounted + 1,
  })) {
    if (threads.length === mostCounted) return { threads, complete: false };
    if (context.signal.aborted) return { threads, complete: false };
    threads.push(info);
  }
  return { threads, complete: true };
}

async function infoOf(saver: TierSaver, threadId: string): Promise<ThreadInfo> {
  const { revision, head } = await saver.tier.peek({ threadId, namespace: "" });
  for await (const { record } of saver.tier.list({ threadId, namespace: "", recordsOnly: true, limit: 1 })) {
    const { header } = await saver.coder.decodeBody(record);
    return { threadId, revision, head, evicted: false, writtenAtMs: Date.parse(header.ts) };
  }
  return { threadId, revision, head, evicted: true, writtenAtMs: 0 };
}

/** At most so many items, spread evenly. */
function spread<T>(items: readonly T[], most: number): T[] {
  const chosen = Math.min(most, items.length);
  return Array.from({ length: chosen }, (_, n) => items[Math.floor((n * items.length) / chosen)]!);
}

/** The figures of the threads that were measured, projected to all that were counted. */
class Total {
  readonly #factor: number;
  readonly #measured: readonly { readonly info: ThreadInfo; readonly measured: Measured }[];
  readonly #idleBeforeMs: number;

  constructor(
    counted: number,
    measured: readonly { info: ThreadInfo; measured: Measured }[],
    idleBeforeMs: number,
  ) {
    this.#factor = measured.length === 0 ? 0 : counted / measured.length;
    this.#measured = measured;
    this.#idleBeforeMs = idleBeforeMs;
  }

  figures(): Omit<Output, "thread" | "estimated" | "threads" | "frees"> {
    const records = this.#sum(({ recordBytes }) => recordBytes);
    const writes = this.#sum(({ writeBytes }) => writeBytes);
    const values = this.#sum(({ valueBytes }) => valueBytes);
    const total = records + writes + values;
    const states = this.#sum(({ stateBytes }) => stateBytes);
    return {
      checkpoints: this.#sum(({ checkpoints }) => checkpoints),
      bytes: { records, writes, values, total },
      states: {
        bytes: states,
        sampled: this.#measured.some(({ measured }) => measured.sampled),
        ...(total === 0 ? {} : { ratio: states / total }),
      },
      channels: this.#channels(),
      namespaces: this.#namespaces(),
      tiers: this.#tiers(),
      chains: this.#chains(),
      growth: this.#growth(),
    };
  }

  pruned(): { checkpoints: number; bytes: number } {
    return {
      checkpoints: this.#sum(({ pruned }) => pruned.checkpoints),
      bytes: this.#sum(({ pruned }) => pruned.bytes),
    };
  }

  /** Bytes in the warm tier of threads that would be archived. */
  idleBytes(): number {
    const idle = this.#measured.filter(({ info }) => info.writtenAtMs < this.#idleBeforeMs);
    const held = idle.flatMap(({ measured }) => measured.tiers.filter(({ role }) => role === "warm"));
    return this.#projected(held.reduce((sum, { bytes }) => sum + bytes, 0));
  }

  #sum(of: (measured: Measured) => number): number {
    return this.#projected(this.#measured.reduce((sum, { measured }) => sum + of(measured), 0));
  }

  #projected(figure: number): number {
    return Math.round(figure * this.#factor);
  }

  #channels(): Output["channels"] {
    const sums = new Map<string, { values: number; bytes: number }>();
    for (const { measured } of this.#measured)
      for (const [channel, { values, bytes }] of measured.channels) {
        const sum = sums.get(channel) ?? { values: 0, bytes: 0 };
        sums.set(channel, { values: sum.values + values, bytes: sum.bytes + bytes });
      }
    return [...sums]
      .sort(([, a], [, b]) => b.bytes - a.bytes)
      .slice(0, mostListed)
      .map(([channel, { values, bytes }]) => ({
        channel,
        values: this.#projected(values),
        bytes: this.#projected(bytes),
      }));
  }

  #namespaces(): Output["namespaces"] {
    const sums = new Map<string, number>();
    for (const { measured } of this.#measured)
      for (const [namespace, checkpoints] of measured.namespaces)
        sums.set(namespace, (sums.get(namespace) ?? 0) + checkpoints);
    return [...sums]
      .sort(([, a], [, b]) => b - a)
      .slice(0, mostListed)
      .map(([namespace, checkpoints]) => ({ namespace, checkpoints: this.#projected(checkpoints) }));
  }

  #tiers(): Output["tiers"] {
    const sums = new Map<string, Output["tiers"][number]>();
    for (const { measured } of this.#measured)
      for (const { tier, role, checkpoints, bytes, error } of measured.tiers) {
        const key = `${role} ${tier}`;
        const sum = sums.get(key) ?? { tier, role, checkpoints: 0, bytes: 0 };
        const failure =
          error === undefined ? {} : { error: error instanceof Error ? error.message : "it didn't answer" };
        sums.set(key, {
          ...sum,
          checkpoints: sum.checkpoints + checkpoints,
          bytes: sum.bytes + bytes,
          ...failure,
        });
      }
    return [...sums.values()].map((sum) => ({
      ...sum,
      checkpoints: this.#projected(sum.checkpoints),
      bytes: this.#projected(sum.bytes),
    }));
  }

  #chains(): Output["chains"] {
    const of = (pick: (chains: Measured["chains"]) => number): number =>
      this.#sum(({ chains }) => pick(chains));
    const [whole, patches, lengths] = [of((c) => c.whole), of((c) => c.patches), of((c) => c.lengths)];
    const longest = Math.max(0, ...this.#measured.map(({ measured }) => measured.chains.longest));
    return { whole, patches, mean: whole + patches === 0 ? 0 : lengths / (whole + patches), longest };
  }

  #growth(): Output["growth"] {
    const sums = new Map<string, { checkpoints: number; bytes: number }>();
    for (const { measured } of this.#measured)
      for (const [name, { checkpoints, bytes }] of measured.days) {
        const sum = sums.get(name) ?? { checkpoints: 0, bytes: 0 };
        sums.set(name, { checkpoints: sum.checkpoints + checkpoints, bytes: sum.bytes + bytes });
      }
    const days = [...sums]
      .sort(([a], [b]) => (a < b ? 1 : -1))
      .map(([name, { checkpoints, bytes }]) => ({
        day: name,
        checkpoints: this.#projected(checkpoints),
        bytes: this.#projected(bytes),
      }));
    const weekAgo = new Date(Date.now() - 7 * day).toISOString().slice(0, 10);
    const recent = days.filter((each) => each.day > weekAgo && each.day !== "unknown");
    const perDay = Math.round(recent.reduce((sum, { bytes }) => sum + bytes, 0) / 7);
    return { days: days.slice(0, mostListed), perDay };
  }
}
