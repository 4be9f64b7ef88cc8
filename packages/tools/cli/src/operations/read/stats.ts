import type { ThreadInfo, TierSaver } from "@stratigraph/core";
import { isArchivedElsewhere, isLangGraphChannel, Storages, trace } from "@stratigraph/core/internal";
import { z } from "zod";
import { columns, shown, table } from "../render/columns.ts";
import { bytesText } from "../render/units.ts";
import { resolveThread } from "../table/address.ts";
import type { Context } from "../table/context.ts";
import { fields } from "../table/fields.ts";
import { operation } from "../table/operation.ts";
import { measureThread, type Measured } from "./measureThread.ts";
import { statsOutput, type Stats } from "./statsOutput.ts";
import { Total } from "./total.ts";

/** How many threads of a storage are counted at most. */
const mostCounted = 20_000;

/** How many states of each thread are read when a whole storage is measured. */
const statesPerThread = 3;

const day = 86_400_000;

/** Reports how much is stored. */
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
  output: statsOutput,
  async run({ thread, keepLast, idleDays, sample }, context) {
    const saver = await context.saver();
    const idleBeforeMs = Date.now() - idleDays * day;
    const found =
      thread === undefined
        ? await countThreads(saver, context)
        : { threads: [await infoOf(saver, await resolveThread(saver, thread))], complete: true, damaged: 0 };
    const chosen = spread(found.threads, sample);
    const measured: { info: ThreadInfo; measured: Measured }[] = [];
    const storages = new Storages(saver.tier);
    const evicted = found.threads.find((info) => info.evicted);
    let isElsewhere = evicted !== undefined && (await isArchivedElsewhere(saver.tier, evicted.threadId));
    let looked = 0;
    let failed = found.damaged;
    for (const info of chosen) {
      if (context.signal.aborted) break;
      looked += 1;
      try {
        isElsewhere ||= await isArchivedElsewhere(saver.tier, info.threadId);
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
    const figures = total.figures();
    if (thread === undefined)
      trace({
        type: "stored",
        threads: threads.counted,
        tiers: figures.tiers.map(({ tier, bytes }) => ({ tier, bytes })),
      });
    return {
      ...(thread === undefined ? {} : { thread: measured[0]!.info.threadId }),
      ...(isElsewhere ? { note: "What is in an archive that isn't open isn't counted." } : {}),
      estimated: measured.length < found.threads.length,
      threads,
      ...figures,
      frees: {
        prune: { keepLast, ...total.pruned() },
        archive: { idleDays, threads: idle, bytes: total.idleBytes() },
      },
    };
  },
  *render(found) {
    yield* summaryLines(found);
    const { channels, namespaces, tiers, growth, note } = found;
    if (note !== undefined) yield note;
    yield* section(
      ["CHANNEL", ">VALUES", ">BYTES"],
      shownChannels(channels).map(({ channel, values, bytes }) => [
        channel,
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
  found: ({ threads }) => threads.failed > 0,
});

/** The channels for people: LangGraph's own, such as `__pregel_tasks`, are summed in one row, at the position of the largest. */
function shownChannels(channels: Stats["channels"]): Stats["channels"] {
  const rows = new Map<string, { channel: string; values: number; bytes: number }>();
  for (const { channel: name, values, bytes } of channels) {
    const ours = name === "" ? "(pending writes, patch bases)" : name;
    const channel = isLangGraphChannel(name) ? "(LangGraph's own)" : ours;
    const row = rows.get(channel) ?? { channel, values: 0, bytes: 0 };
    rows.set(channel, { channel, values: row.values + values, bytes: row.bytes + bytes });
  }
  return [...rows.values()];
}

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
}: Stats): Iterable<string> {
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
      `Measured ${threads.measured} threads, and estimated all ${threads.counted} from them. --sample measures more.`,
    );
  if (threads.failed > 0) yield `Threads that couldn't be read: ${threads.failed}. Run "stratigraph verify".`;
}

async function countThreads(
  saver: TierSaver,
  context: Context,
): Promise<{ threads: ThreadInfo[]; complete: boolean; damaged: number }> {
  const threads: ThreadInfo[] = [];
  let damaged = 0;
  for await (const { headRecord: _record, ...info } of saver.tier.threads({
    order: "newest",
    limit: mostCounted + 1,
    onDamaged: () => (damaged += 1),
  })) {
    if (threads.length === mostCounted || context.signal.aborted)
      return { threads, complete: false, damaged };
    threads.push(info);
  }
  return { threads, complete: true, damaged };
}

async function infoOf(saver: TierSaver, threadId: string): Promise<ThreadInfo> {
  const { revision, head } = await saver.tier.peek({ threadId, namespace: "" });
  for await (const { record } of saver.tier.list({ threadId, namespace: "", recordsOnly: true, limit: 1 })) {
    const { header } = await saver.coder.decodeBody(record);
    return { threadId, revision, head, evicted: false, writtenAtMs: Date.parse(header.ts) };
  }
  return { threadId, revision, head, evicted: true, writtenAtMs: 0 };
}

/** Chooses at most `most` items, spread evenly. */
function spread<T>(items: readonly T[], most: number): T[] {
  const chosen = Math.min(most, items.length);
  return Array.from({ length: chosen }, (_, n) => items[Math.floor((n * items.length) / chosen)]!);
}
