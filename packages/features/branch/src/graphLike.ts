import type { RunnableConfig } from "@langchain/core/runnables";
import { InvalidOptionError, type TierSaver } from "@stratigraph/core";
import { isControlChannel } from "@stratigraph/core/internal";
import { isSaver, kindOfValue } from "./checkSaver.ts";
import { isChannel, type ChannelSpec } from "./langgraph.ts";

/** The parts of a state snapshot's task that merging needs. */
export interface TaskLike {
  readonly name: string;
  readonly interrupts: readonly unknown[];
  readonly state?: unknown;
}

/** The parts of a compiled graph that merging needs. Any graph compiled with one of Stratigraph's savers has them. */
export interface MergeableGraph {
  readonly checkpointer?: unknown;
  readonly channels: object;
  readonly nodes?: Readonly<Record<string, { readonly triggers: readonly string[] }>>;
  getState(
    config: RunnableConfig,
  ): Promise<{ readonly next: readonly string[]; readonly tasks: readonly TaskLike[] }>;
}

/** How a channel takes part in a merge. */
export type ChannelKind = "state" | "delta" | "control" | "untracked";

/** Types of channels that determine what runs next. Their values are taken from the side that has unfinished work. */
const controlTypes: ReadonlySet<string> = new Set([
  "EphemeralValue",
  "NamedBarrierValue",
  "NamedBarrierValueAfterFinish",
  "DynamicBarrierValue",
  "DynamicBarrierValueAfterFinish",
  "LastValueAfterFinish",
]);

/**
 * The saver that a graph was compiled with.
 * @param what the name of the function that was given the graph
 * @throws InvalidOptionError if the value isn't a compiled graph, or its saver isn't one of Stratigraph's
 */
export function saverOf(what: string, graph: MergeableGraph): TierSaver {
  const given: unknown = graph;
  const { channels, getState, compile } = Object(given) as Record<string, unknown>;
  if (typeof channels !== "object" || channels === null || typeof getState !== "function") {
    const why = isSaver(given) ? ", not its saver" : typeof compile === "function" ? ", not its builder" : "";
    throw new InvalidOptionError(
      "graph",
      kindOfValue(given),
      `${what} takes the compiled graph${why}: its channels say how values are merged.`,
    );
  }
  const saver = graph.checkpointer;
  if (isSaver(saver)) return saver;
  throw new InvalidOptionError(
    "graph.checkpointer",
    kindOfValue(saver),
    "Compile the graph with a Stratigraph saver: builder.compile({ checkpointer: saver }).",
  );
}

/** The channels of a graph, without managed values. */
export function channelsOf(graph: MergeableGraph): Map<string, ChannelSpec> {
  const found = new Map<string, ChannelSpec>();
  for (const [name, channel] of Object.entries(graph.channels))
    if (isChannel(channel)) found.set(name, channel);
  return found;
}

/** How a channel takes part in a merge. A channel that the graph doesn't have is state, unless LangGraph uses its name. */
export function kindOf(name: string, spec: ChannelSpec | undefined): ChannelKind {
  if (isControlChannel(name)) return "control";
  if (spec === undefined) return "state";
  if (spec.lc_graph_name === "DeltaChannel") return "delta";
  if (spec.lc_graph_name === "UntrackedValue") return "untracked";
  return controlTypes.has(spec.lc_graph_name) ? "control" : "state";
}
