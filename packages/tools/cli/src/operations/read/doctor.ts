import { InvalidOptionError, StratigraphError, type TierSaver } from "@stratigraph/core";
import { answerWithin, diagnosisOf, messageOf } from "@stratigraph/core/internal";
import type { Diagnosis, CheckResult } from "@stratigraph/core/tier";
import { z } from "zod";
import { graphFinding } from "../graph/finding.ts";
import { JudgedGraph } from "../graph/judgedGraph.ts";
import { judgeThreads, mostFindings, type Judgement } from "../graph/judgeThreads.ts";
import { columns, shown, table } from "../render/columns.ts";
import type { Context } from "../table/context.ts";
import { fields, flag } from "../table/fields.ts";
import { operation } from "../table/operation.ts";
import { maintenanceFinding } from "./maintenanceFinding.ts";
import { processFindings } from "./processFindings.ts";

/** Stands in the place of a tier's name in findings about this process and about opening the storage. */
const thisProcess = "process";

const item = z.object({
  tier: z.string().describe('The storage, or "process": this process and its packages.'),
  role: z.enum(["hot", "warm", "cold", "replica"]).optional().describe("What the storage is used for."),
  check: z.string().describe("What was looked at."),
  status: z.enum(["ok", "warning", "problem", "unknown"]),
  found: z.string(),
  advice: z.string().optional().describe("What to do, as a command where there is one."),
  at: graphFinding.optional().describe("What a graph can't load, and where, if one was given."),
});
type Item = z.infer<typeof item>;

/**
 * Checks the set-up. Its effect is "read" although `write` makes it put a probe object: no thread is read or written either way, and
 * the probe is removed again.
 */
export const doctor = operation({
  name: "doctor",
  group: "storage",
  effect: "read",
  summary:
    "Check the set-up of every storage, or which stored threads a graph can't load, and say what to do.",
  examples: [
    "stratigraph doctor",
    "stratigraph doctor --write",
    "stratigraph doctor --timeout 20",
    "stratigraph doctor --graph agent --sample 1000",
  ],
  input: z.object({
    graph: z
      .string()
      .min(1)
      .optional()
      .describe(
        "Tell which stored threads this graph can't load, and nothing else: a graph of the config, or on the command line a file (./graph.ts, ./graph.ts:agent).",
      ),
    sample: z.coerce
      .number()
      .int()
      .min(1)
      .max(100_000)
      .optional()
      .describe(
        "With a graph: judge so many threads only, half of them those written last, half those written longest ago.",
      ),
    cursor: fields.cursor.describe("With a graph: where an interrupted call ended."),
    write: flag("Also write a probe object to object storage, and remove it again. Threads are not touched."),
    timeout: z.coerce
      .number()
      .min(0.1)
      .max(600)
      .default(5)
      .describe("How long each check may take, in seconds."),
  }),
  output: z.object({
    problems: z.number().describe("How many findings are problems: calls fail, or threads are at risk."),
    warnings: z.number(),
    items: z.array(item),
    graph: z
      .object({
        threads: z.number().describe("How many threads were judged, by their heads."),
        bad: z.number().describe("How many of them the graph can't load as they are."),
        skipped: z.number().describe("Threads that are archived, or without a head in this storage."),
        kinds: z
          .partialRecord(graphFinding.shape.kind, z.number())
          .describe("Threads by what is wrong with them."),
        leftOut: z.number().describe(`Findings that aren't among the items: ${mostFindings} are at most.`),
      })
      .optional(),
    complete: z.boolean().optional().describe("With a graph: whether all threads were gone through."),
    cursor: fields.cursor.describe("With a graph: where to go on, if the call was interrupted."),
  }),
  async run({ write, timeout, graph, sample, cursor }, context) {
    if (graph !== undefined) return await judged(graph, { sample, cursor }, context);
    if (sample !== undefined || cursor !== undefined)
      throw new InvalidOptionError(
        "graph",
        "nothing",
        "A sample and a cursor are for the threads that a graph is to load.",
      );
    const timeoutMs = timeout * 1000;
    const items: Item[] = processFindings(process.cwd()).map((one) => ({ tier: thisProcess, ...one }));
    const saver = await opened(context);
    if (saver instanceof StratigraphError)
      items.push({ tier: thisProcess, check: "open", ...cantOpen(saver, context.origin) });
    else items.push(...(await findingsOf(saver, { write, timeoutMs })));
    const count = (status: Item["status"]): number => items.filter((one) => one.status === status).length;
    return { problems: count("problem"), warnings: count("warning"), items };
  },
  *render({ items, problems, warnings, graph, complete, cursor }) {
    if (graph !== undefined) {
      yield* judgementText(items, graph);
      if (complete === false)
        yield `Interrupted. ${cursor === undefined ? "" : `It goes on with --cursor ${cursor}`}`.trim();
      return;
    }
    const marks = { ok: "ok", warning: "WARNING", problem: "PROBLEM", unknown: "?" } as const;
    const rows = items.map(({ tier, role, check, status, found }) => [
      marks[status],
      role === undefined ? tier : `${tier} (${role})`,
      check,
      found,
    ]);
    yield* columns([["", "STORAGE", "CHECK", "FOUND"], ...rows]);
    const advised = items.filter(({ status, advice }) => status !== "ok" && advice !== undefined);
    const urgency: readonly Item["status"][] = ["problem", "warning", "unknown"];
    advised.sort((a, b) => urgency.indexOf(a.status) - urgency.indexOf(b.status));
    if (advised.length > 0) yield* ["", "What to do:"];
    for (const { tier, check, status, advice } of advised)
      yield `${marks[status]} ${shown(tier)} ${shown(check)}: ${shown(advice!)}`;
    yield "";
    yield verdict(problems, warnings);
  },
  found: ({ problems }) => problems > 0,
});

/** What a graph can't load of the stored threads. */
async function judged(
  name: string,
  how: { readonly sample?: number | undefined; readonly cursor?: string | undefined },
  context: Context,
) {
  const graph = await JudgedGraph.of(await context.graph(name));
  const saver = await context.saver();
  const { findings, complete, cursor, ...graphOutput } = await judgeThreads(graph, saver, how, context);
  return {
    problems: graphOutput.bad,
    warnings: 0,
    items: findings.map(({ found, ...at }): Item => ({
      tier: saver.tier.name,
      check: "graph",
      status: "problem",
      found,
      at,
    })),
    graph: graphOutput,
    complete,
    ...(cursor === undefined ? {} : { cursor }),
  };
}

const kindNames: readonly (readonly [kind: keyof Judgement["kinds"], text: string])[] = [
  ["channel", "with a channel that the graph hasn't"],
  ["value", "with a value that a schema refuses"],
  ["node", "at a node that the graph hasn't"],
  ["undecodable", "that can't be read"],
  ["version", "of another state version"],
];

function* judgementText(
  items: readonly Item[],
  { threads, bad, skipped, kinds, leftOut }: Omit<Judgement, "findings" | "complete">,
): Iterable<string> {
  const rows = items.map(({ at, found }) => [
    at!.thread,
    at!.namespace ?? "",
    at!.checkpoint ?? "",
    at!.kind,
    found,
  ]);
  if (rows.length > 0) yield* [...table(["THREAD", "SUBGRAPH", "HEAD", "KIND", "FOUND"], rows), ""];
  if (leftOut > 0) yield `${leftOut} further findings aren't listed.`;
  const of = (count: number): string => `${count} thread${count === 1 ? "" : "s"}`;
  yield bad === 0
    ? `The graph can load ${of(threads)}: all that were looked at.`
    : `The graph can't load ${bad} of ${of(threads)} as they are:`;
  for (const [kind, text] of kindNames) if (kinds[kind] !== undefined) yield `  ${kinds[kind]} ${text}`;
  if (skipped > 0)
    yield `${of(skipped)} ${skipped === 1 ? "was" : "were"} left out: archived, or without a head in this storage.`;
}

function verdict(problems: number, warnings: number): string {
  const counted = (count: number, what: string): string => `${count} ${what}${count === 1 ? "" : "s"}`;
  if (problems === 0 && warnings === 0) return "All is well.";
  if (problems === 0) return `It works. ${counted(warnings, "warning")}.`;
  return `${counted(problems, "problem")}, ${counted(warnings, "warning")}.`;
}

/** The saver, or why it can't be opened. */
async function opened(context: Context): Promise<TierSaver | StratigraphError> {
  try {
    return await context.saver();
  } catch (error) {
    if (StratigraphError.is(error)) return error;
    throw error;
  }
}

function cantOpen(
  { code, message }: StratigraphError,
  origin: string,
): Pick<Item, "status" | "found" | "advice"> {
  const found = `The storage can't be opened: ${message}`;
  const advice = code === "NOT_SET_UP" ? "stratigraph setup" : `Correct the settings (${origin}).`;
  return { status: "problem", found, advice };
}

async function findingsOf(
  saver: TierSaver,
  how: { readonly write: boolean; readonly timeoutMs: number },
): Promise<Item[]> {
  const { tier } = saver;
  const found: readonly Diagnosis[] = await diagnosisOf(tier, { role: "warm", ...how });
  const items = found.map(itemOf);
  // A storage that can't be reached has been reported; asking it again would take its whole timeout.
  const isAway = found.some(
    ({ check, role, status }) => check === "connection" && role === "warm" && status !== "ok",
  );
  if (isAway) return items;
  items.push(...(await saver.diagnoseKeys(how)).map(itemOf));
  try {
    const look = (): Promise<CheckResult> => maintenanceFinding(tier, Date.now());
    const late = (): Error => new Error(`It could not be looked at within ${how.timeoutMs} ms.`);
    const finding = await answerWithin(how.timeoutMs, look, late);
    items.push({ tier: tier.name, check: "maintenance", ...finding });
  } catch (error) {
    const why = messageOf(error);
    items.push({ tier: tier.name, check: "maintenance", status: "unknown", found: why });
  }
  return items;
}

function itemOf({ advice, ...rest }: Diagnosis): Item {
  return { ...rest, ...(advice === undefined ? {} : { advice }) };
}
