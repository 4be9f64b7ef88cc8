import type { CheckpointTuple } from "@langchain/langgraph-checkpoint";
import { readPoint } from "@stratigraph/branch/internal";
import { StratigraphError, type TierSaver } from "@stratigraph/core";
import { dueNodes, isLangGraphChannel, taskStates } from "@stratigraph/core/internal";
import { formatPath } from "../values/formatPath.ts";
import type { Redaction } from "../values/redaction.ts";
import type { FindingKind, GraphFinding } from "./finding.ts";
import type { GraphChannel, JudgedGraph } from "./judgedGraph.ts";

/** How many parts of one value are named at most. */
const mostIssues = 10;

/** Errors that say that what is stored can't be read, by their codes. Others say that the storage or a key isn't there at the moment. */
const unreadable: Readonly<Record<string, FindingKind>> = {
  CORRUPT: "undecodable",
  KEY_MISSING: "undecodable",
  KEY_MISMATCH: "undecodable",
  PLAINTEXT_REFUSED: "undecodable",
  UNREGISTERED_TYPE: "undecodable",
  NEWER_FORMAT: "undecodable",
  SERIALIZATION: "undecodable",
  STATE_VERSION: "version",
  STATE_STEP_FAILED: "version",
};

/** The finding that an error of a read amounts to. @throws the error, if what is stored may be well */
export function findingOf(error: unknown): GraphFinding {
  const kind = StratigraphError.is(error) ? unreadable[error.code] : undefined;
  if (kind === undefined) throw error;
  const { message, data } = error as StratigraphError;
  const channel = data["channel"];
  return { kind, found: message, ...(typeof channel === "string" ? { channel } : {}) };
}

/** What a graph can't load of a checkpoint and its pending writes. */
export async function judgeCheckpoint(
  graph: JudgedGraph,
  saver: TierSaver,
  tuple: CheckpointTuple,
  redaction: Redaction,
): Promise<GraphFinding[]> {
  const found = await dueElsewhere(graph, saver, tuple);
  for (const [channel, value] of Object.entries(tuple.checkpoint.channel_values)) {
    const known = graph.channel(channel);
    if (known !== undefined) found.push(...(await judgeValue(graph, channel, value, redaction)));
    else if (!isLangGraphChannel(channel)) found.push(unknownChannel(channel, "its value"));
  }
  found.push(...(await judgeRebuilt(graph, saver, tuple, redaction)));
  return found;
}

function unknownChannel(channel: string, what: string): GraphFinding {
  const found = `The graph has no channel ${JSON.stringify(channel)}: ${what} is dropped when the thread goes on.`;
  return { kind: "channel", channel, found };
}

async function judgeValue(
  graph: JudgedGraph,
  channel: string,
  value: unknown,
  redaction: Redaction,
): Promise<GraphFinding[]> {
  const issues = await graph.issues(channel, value);
  return issues.slice(0, mostIssues).map(({ message, path }) => {
    const shown = redaction.shownSteps(channel, path);
    const at = path.length === 0 || shown === 0 ? {} : { path: formatPath(path.slice(0, shown)) };
    // A message of a schema may hold what it refuses.
    const why = redaction.isActive ? "" : `: ${message}`;
    const what = "path" in at ? `what is at ${at.path}` : "it";
    return { kind: "value", channel, ...at, found: `The schema of ${channel} refuses ${what}${why}` };
  });
}

/** DeltaChannels are judged by the value that the graph's own channel makes of their writes. */
async function judgeRebuilt(
  graph: JudgedGraph,
  saver: TierSaver,
  { checkpoint, metadata, config }: CheckpointTuple,
  redaction: Redaction,
): Promise<GraphFinding[]> {
  const found: GraphFinding[] = [];
  const lacks = (channel: string): boolean =>
    checkpoint.channel_versions[channel] !== undefined && !Object.hasOwn(checkpoint.channel_values, channel);
  const { counters_since_delta_snapshot: counters = {} } = (metadata ?? {}) as {
    counters_since_delta_snapshot?: object;
  };
  for (const channel of Object.keys(counters).filter(lacks)) {
    const { lc_graph_name: kind } = graph.channel(channel) ?? {};
    if (kind === undefined) found.push(unknownChannel(channel, "its value"));
    else if (!rebuilds.has(kind))
      found.push({
        kind: "value",
        channel,
        found: `${channel} was stored as a DeltaChannel, which the graph's ${kind} can't rebuild: it is empty when the thread goes on.`,
      });
  }
  const rebuilt = graph.channels.filter(
    (channel) => lacks(channel) && rebuilds.has(graph.channel(channel)!.lc_graph_name ?? ""),
  );
  if (rebuilt.length === 0) return found;
  const histories = await saver.getDeltaChannelHistory({ config, channels: rebuilt });
  for (const channel of rebuilt) {
    const history = histories[channel];
    if (history === undefined || (history.writes.length === 0 && history.seed === undefined)) continue;
    let value: unknown;
    try {
      value = replayed(graph.channel(channel)!.fromCheckpoint(history.seed), history.writes);
    } catch (error) {
      const why = redaction.isActive ? "" : `: ${error instanceof Error ? error.message : String(error)}`;
      found.push({ kind: "value", channel, found: `The reducer of ${channel} throws on its writes${why}` });
      continue;
    }
    found.push(...(await judgeValue(graph, channel, value, redaction)));
  }
  return found;
}

/** Channels that LangGraph rebuilds from writes. Those of a plain reducer since 1.7, where they were DeltaChannels before. */
const rebuilds: ReadonlySet<string> = new Set(["DeltaChannel", "BinaryOperatorAggregate"]);

function replayed(channel: GraphChannel, writes: readonly (readonly unknown[])[]): unknown {
  if (channel.replayWrites !== undefined) channel.replayWrites(writes);
  else for (const [, , value] of writes) channel.update([value]);
  return channel.get();
}

/** Nodes that are due, or that pending writes lead to, and channels that pending writes are for, which the graph hasn't. */
async function dueElsewhere(
  graph: JudgedGraph,
  saver: TierSaver,
  { config, checkpoint, pendingWrites = [] }: CheckpointTuple,
): Promise<GraphFinding[]> {
  const due = new Set<string>();
  const channels = new Map<string, string>();
  const take = (channel: string, value: unknown, what: string): void => {
    if (channel.startsWith("join:")) {
      const node = channel.slice(channel.lastIndexOf(":") + 1);
      if (!graph.hasNode(node)) due.add(node);
      else if (graph.channel(channel) === undefined && !isEmpty(value)) channels.set(channel, what);
    } else if (what !== "its value" && !isLangGraphChannel(channel) && graph.channel(channel) === undefined)
      channels.set(channel, what);
  };
  const values = Object.entries(checkpoint.channel_values);
  const written = pendingWrites.map(([, channel, value]) => [channel, value] as const);
  for (const node of dueNodes([...values, ...written])) if (node !== "__start__") due.add(node);
  for (const [channel, value] of values) take(channel, value, "its value");
  for (const [channel, value] of written) take(channel, value, "a pending write");
  const missing = [...due].filter((node) => !graph.hasNode(node));
  const waits = missing.length > 0 && (await hasQuestion(saver, config));
  return [
    ...missing.map((node): GraphFinding => {
      const question = waits ? " A question waits for an answer there." : "";
      const found = `The node ${JSON.stringify(node)} is due, and the graph has none of that name: the step is skipped.${question}`;
      return { kind: "node", node, found };
    }),
    ...[...channels].map(([channel, what]) => unknownChannel(channel, what)),
  ];
}

async function hasQuestion(saver: TierSaver, { configurable }: CheckpointTuple["config"]): Promise<boolean> {
  const { thread_id: threadId, checkpoint_ns: namespace = "", checkpoint_id: checkpointId } = configurable!;
  const { stored } = await readPoint(saver, { threadId, namespace, checkpointId });
  return (await taskStates(saver, stored)).waiting.size > 0;
}

function isEmpty(value: unknown): boolean {
  return value === null || value === undefined || (Array.isArray(value) && value.length === 0);
}
