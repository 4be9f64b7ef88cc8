import type { Answer, Answers, MergeOptions, Strategies, Strategy } from "@stratigraph/branch";
import { InvalidOptionError, type TierSaver } from "@stratigraph/core";
import { z } from "zod";
import { columns, shown } from "../render/columns.ts";
import { commandText } from "../render/commandText.ts";
import { resolvePoint } from "../table/address.ts";
import { fields, flag, texts } from "../table/fields.ts";
import { operation } from "../table/operation.ts";
import { givenJson } from "../values/edit.ts";
import { Redaction } from "../values/redaction.ts";
import type { Complete } from "./complete.ts";
import { heldMerge } from "./heldMerge.ts";
import { conflictShape, shownConflict } from "./shownConflict.ts";

const ref = z.object({ threadId: z.string(), checkpointId: z.string() });

/** A plan as output, and as input again. Only its names and places are used; the values are for people. */
const planSchema = z.object({
  version: z.literal(1),
  target: ref,
  sources: z.array(ref),
  bases: z.array(z.string()),
  channels: z.array(conflictShape),
});

/** Strategies that can be named in text; a function can't. */
const strategies = ["ours", "theirs", "union", "reducer", "manual"] as const satisfies readonly Strategy[];

/** JSON, either parsed or as text. */
function json<T extends z.ZodType>(schema: T, description: string) {
  const parsed = (given: unknown, context: z.RefinementCtx): unknown => {
    if (typeof given !== "string") return given;
    try {
      return JSON.parse(given);
    } catch {
      context.addIssue({ code: "custom", message: "write JSON" });
      return z.NEVER;
    }
  };
  return z.preprocess(parsed, schema).describe(description);
}

const side = z.enum(["base", "ours", "theirs"]);

/** Merges threads. */
export const merge = operation({
  name: "merge",
  group: "change",
  effect: "write",
  summary:
    "Merge threads or side branches into a thread, channel by channel. Conflicts are listed, and answered.",
  args: ["thread", "from"],
  examples: [
    "stratigraph merge ada ada-2 --dry-run",
    "stratigraph merge ada ada@lost:1",
    "stratigraph merge ada ada-2 --strategy topic=theirs",
    `stratigraph merge ada ada-2 --answers '{"topic":"ours","budget":{"value":12}}'`,
  ],
  input: z.object({
    thread: fields.thread.describe("The id of the thread to merge into, at its head."),
    from: texts(
      "What to merge: threads, or checkpoints of them, such as ada@lost:1. Not needed with a plan.",
    ),
    strategy: texts(
      `What settles channels that both sides changed: one of ${strategies.join(", ")} for all, or channel=strategy.`,
    ),
    answers: json(
      z.record(z.string(), z.union([side, z.strictObject({ value: z.unknown() })])),
      'Answers to conflicts as JSON: {"channel": "base" | "ours" | "theirs" | {"value": …}}.',
    ).default({}),
    plan: json(
      planSchema,
      "The plan of an earlier call as JSON: merges only if the thread is still where the plan was made.",
    ).optional(),
    seen: texts(
      "The `seen` of a dry run: merges only if neither the thread nor its sources have changed since.",
    ),
    mergeCommit: flag("Make a merge checkpoint even if the head could just move forward."),
    graph: z
      .string()
      .optional()
      .describe("The graph whose channels say how values combine. Default: the only one there is."),
    dryRun: fields.dryRun,
  }),
  output: z.object({
    status: z
      .enum(["merged", "fast-forward", "already-merged", "planned", "conflict"])
      .describe("planned: a dry run found no conflict. conflict: nothing was written; answer the plan."),
    thread: z.string(),
    head: z.string().describe("The thread's head now."),
    seen: z
      .array(z.string())
      .optional()
      .describe("The checkpoints that were looked at: the thread's head, then those that `from` names."),
    channels: z
      .record(z.string(), z.string())
      .optional()
      .describe("For each channel, where its value comes from."),
    plan: planSchema
      .optional()
      .describe("All conflicts, including answered ones. Pass it back with answers."),
    open: z.array(z.string()).optional().describe("The plan's channels that have no answer."),
  }),
  async run({ thread, from, strategy, answers, plan, seen, mergeCommit, graph: name, dryRun }, context) {
    const [graph, saver] = [await context.graph(name), await context.saver()];
    const how: Complete<MergeOptions> = {
      strategy: strategiesOf(strategy),
      fastForward: !mergeCommit,
      dryRun,
    };
    const points = await Promise.all(from.map((at) => resolvePoint(saver, { at })));
    const result = await heldMerge(graph, {
      thread,
      points,
      plan,
      answers: await revived(saver, answers),
      seen,
      how,
    });
    const looked = (head: string): { seen?: string[] } =>
      plan === undefined ? { seen: [head, ...points.map(({ checkpointId }) => checkpointId)] } : {};
    if (result.status === "conflict") {
      const redaction = new Redaction(context.redact);
      // A plan that was passed in already holds texts, which are shown unchanged.
      const channels =
        result.plan === plan
          ? plan.channels
          : result.plan.channels.map((one) => shownConflict(one, redaction));
      const { target, sources, bases, version } = result.plan;
      const whole = { version, target, sources: [...sources], bases: [...bases], channels };
      const open = channels
        .map(({ name: channel }) => channel)
        .filter((channel) => !Object.hasOwn(answers, channel));
      const head = target.checkpointId;
      return { status: result.status, thread, head, ...looked(head), plan: whole, open };
    }
    const { status, config } = result;
    const channels = "channels" in result ? result.channels : undefined;
    const head = config.configurable.checkpoint_id;
    return {
      status,
      thread,
      head,
      ...(dryRun ? looked(head) : {}),
      ...(channels === undefined ? {} : { channels: { ...channels } }),
    };
  },
  *render({ status, thread, head, channels, plan, open = [] }) {
    const into = shown(thread);
    const said = {
      merged: `Merged into ${into}: the head is ${shown(head)}. To take it back: ${commandText("undo", [thread])}`,
      "fast-forward": `Moved ${into} forward to ${shown(head)}. To take it back: ${commandText("undo", [thread])}`,
      "already-merged": `${into} has it already. Nothing was written.`,
      planned:
        channels === undefined
          ? `The head of ${into} would just move forward. Nothing was written.`
          : `Merging into ${into} would cause no conflict. Nothing was written.`,
      conflict: `Both ${into} and what was to be merged into it changed these channels. Nothing was written.`,
    };
    yield said[status];
    const changed = Object.entries(channels ?? {}).filter(([, outcome]) => outcome !== "unchanged");
    if (changed.length > 0) yield* columns([["CHANNEL", "VALUE OF"], ...changed]);
    for (const { name, reason, base, ours, theirs } of plan?.channels ?? []) {
      if (!open.includes(name)) continue;
      yield "";
      yield `${shown(name)}: ${shown(reason)}`;
      yield* columns([
        ["  base", base],
        ["  ours", ours],
        ["  theirs", theirs],
      ]);
    }
    if (plan === undefined) return;
    const example = Object.fromEntries(open.map((name) => [name, "ours"]));
    yield "";
    yield `Answer each with base, ours, theirs or {"value": …}: --answers '${shown(JSON.stringify(example))}'`;
  },
  found: ({ status }) => status === "conflict",
});

/** @throws InvalidOptionError */
function strategiesOf(given: readonly string[]): Strategies | undefined {
  if (given.length === 0) return undefined;
  const byChannel: Record<string, Strategy> = {};
  for (const text of given) {
    const split = text.lastIndexOf("=");
    const [channel, wanted] = split === -1 ? ["*", text] : [text.slice(0, split), text.slice(split + 1)];
    const known = strategies.find((name) => name === wanted);
    if (known === undefined)
      throw new InvalidOptionError(
        "strategy",
        wanted,
        `Write one of ${strategies.join(", ")}, or channel=strategy.`,
      );
    byChannel[channel] = known;
  }
  return byChannel;
}

/** Answers whose values are revived by the saver's serializer, so that a message becomes a message object. */
async function revived(
  saver: TierSaver,
  answers: Readonly<Record<string, z.infer<typeof side> | { value?: unknown }>>,
): Promise<Answers> {
  const entries = Object.entries(answers).map(async ([channel, answer]): Promise<[string, Answer]> => {
    if (typeof answer === "string") return [channel, answer];
    return [channel, { value: await givenJson(saver, `answers.${channel}`, answer.value ?? null) }];
  });
  return Object.fromEntries(await Promise.all(entries));
}
