import type { RunnableConfig } from "@langchain/core/runnables";
import type { MergeableGraph } from "@stratigraph/branch";

/** What a graph's state says of one task of a step. */
export interface TaskSnapshot {
  readonly id: string;
  readonly name: string;
  readonly error?: unknown;
  readonly interrupts: readonly {
    readonly id?: string;
    readonly value?: unknown;
    /** JSON Schema of the answer, from LangGraph 1.5 on. */
    readonly response_schema?: unknown;
  }[];
  readonly state?: unknown;
  /** What it wrote; absent while it hasn't ended. */
  readonly result?: unknown;
}

/** The parts of a graph's state that are used here. */
export interface StateLike {
  readonly values: unknown;
  readonly next: readonly string[];
  readonly tasks: readonly TaskSnapshot[];
  /** Where it is stored. */
  readonly config?: RunnableConfig | undefined;
}

/** The parts of a compiled graph that running it needs. Any graph compiled with one of Stratigraph's savers has them. */
export interface RunnableGraph extends MergeableGraph {
  getState(config: RunnableConfig): Promise<StateLike>;
  updateState(config: RunnableConfig, values: unknown, asNode?: string): Promise<RunnableConfig>;
  stream(input: unknown, options: object): Promise<AsyncIterable<unknown>>;
}

/** A copy of the graph on another saver. The graph itself isn't changed, because others may be running it. */
export function onSaver(graph: RunnableGraph, checkpointer: unknown): RunnableGraph {
  const copy: RunnableGraph = Object.create(Object.getPrototypeOf(graph) as object) as RunnableGraph;
  return Object.assign(copy, graph, { checkpointer });
}

/**
 * An answer to interrupts that LangGraph recognises. LangGraph's own class isn't used, because the graph may be from another copy of
 * LangGraph than the one that is loaded here.
 */
export class ResumeCommand {
  readonly lg_name = "Command";
  readonly goto: readonly string[] = [];
  readonly resume: Readonly<Record<string, unknown>>;

  /** @param resume answers by the ids of interrupts */
  constructor(resume: Readonly<Record<string, unknown>>) {
    this.resume = resume;
  }
}
