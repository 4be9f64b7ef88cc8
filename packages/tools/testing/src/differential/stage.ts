import { randomUUID } from "node:crypto";
import { isDeepStrictEqual } from "node:util";
import type { RunnableConfig } from "@langchain/core/runnables";
import type { StateSnapshot } from "@langchain/langgraph";
import type { BaseCheckpointSaver } from "@langchain/langgraph-checkpoint";
import type { Durability } from "../graphs/durabilities.ts";
import { type ReadableGraph, historyOf } from "../graphs/snapshots.ts";
import { Normaliser, compare, plain, withoutIds } from "./normalise.ts";

/** The parts of a compiled graph or an entrypoint that scenarios need. */
export interface PlayedGraph extends ReadableGraph {
  invoke(input: unknown, config: RunnableConfig): Promise<unknown>;
  stream(input: unknown, config: RunnableConfig): Promise<AsyncIterable<unknown>>;
  updateState(config: RunnableConfig, values: unknown, asNode?: string): Promise<RunnableConfig>;
  bulkUpdateState(config: RunnableConfig, supersteps: unknown): Promise<RunnableConfig>;
}

/** Compiles the same graph again on another saver. */
export type BuildGraph = (checkpointer: BaseCheckpointSaver) => PlayedGraph;

/** How a turn ended. */
export interface Outcome {
  value?: unknown;
  error?: unknown;
}

/** Something that was observed, with a label. */
export type Note = readonly [label: string, value: unknown];

/** Everything that was observed of a scenario. */
export interface Played {
  notes: readonly Note[];
  /** Whether every state that was read is the one that its run had returned. */
  asLive: boolean;
}

/** A part of a scenario. Its acts, which are turns and updates by hand, are counted. */
export interface Part {
  /** The thread that all parts are played on. */
  threadId: string;
  /** How many acts were played before by somebody else. */
  from: number;
  /** After how many acts the part ends, including those before it. Default: at the end of the scenario. */
  to?: number;
}

/** Thrown to end a part of a scenario, because the next part is played elsewhere. */
class PartEnds extends Error {}

/** What a stage observes of a scenario. */
export interface StageOptions {
  /** Which turns use `stream`. The others use `invoke`. */
  streams: "odd" | "even" | "none";
  /** Whether checkpoints older than the latest are compared too. */
  histories: boolean;
  /** Whether the order of lists is compared. */
  ordered: boolean;
  /** The part to play. Default: the whole scenario, on a new thread. */
  part?: Part | undefined;
}

/** The label of a note for every turn that didn't fail: whether reading returns the state that the turn returned. */
export const readAsLive = "read as it was live";

const streamMode = ["values", "updates", "debug", "checkpoints", "tasks", "custom"];

/**
 * Plays a scenario on one thread of one saver. Each step uses a saver that is newly opened over the same storage, and notes everything
 * that can be observed.
 */
export class Stage {
  readonly durability: Durability;
  /** Addresses the thread, with the durability. */
  readonly config: RunnableConfig;
  readonly #open: () => Promise<BaseCheckpointSaver>;
  readonly #options: StageOptions;
  readonly #notes: Note[] = [];
  #turns = 0;
  #acts = 0;
  #last: BuildGraph | undefined;
  #asLive = true;

  constructor(open: () => Promise<BaseCheckpointSaver>, durability: Durability, options: StageOptions) {
    this.#open = open;
    this.#options = options;
    this.durability = durability;
    this.config = { configurable: { thread_id: options.part?.threadId ?? randomUUID() }, ...{ durability } };
  }

  /** A config of one of the thread's checkpoints, with the durability. */
  at(config: RunnableConfig | undefined): RunnableConfig {
    return { ...this.config, configurable: { ...this.config.configurable, ...config?.configurable } };
  }

  /** Adds something to what is compared. */
  note(label: string, value: unknown): void {
    this.#notes.push([label, plain(value)]);
  }

  /** Runs the graph, by `stream` and `invoke` in turn, and reads the state that it left. */
  async turn(build: BuildGraph, input: unknown, config: RunnableConfig = this.config): Promise<Outcome> {
    if (!(await this.#actBegins(build))) return {};
    const graph = await this.#graph(build);
    this.#turns += 1;
    const streamed = this.#options.streams === (this.#turns % 2 === 1 ? "odd" : "even");
    const outcome: Outcome = {};
    try {
      outcome.value = await (streamed ? this.#stream(graph, input, config) : graph.invoke(input, config));
      this.note("result", outcome.value);
    } catch (error) {
      outcome.error = error;
      this.note("thrown", error);
    }
    const snapshot = await this.#tryState(build);
    // An interrupted entrypoint has no result yet.
    if (outcome.error === undefined && (isRecord(outcome.value) || snapshot?.next.length === 0)) {
      const asLive = readsAs(plain(outcome.value), plain(snapshot?.values));
      this.#asLive &&= asLive;
      this.note(readAsLive, asLive);
    }
    this.#actEnds();
    return outcome;
  }

  /** Reads and notes a state, the thread's latest one by default. */
  async state(build: BuildGraph, config: RunnableConfig = this.config): Promise<StateSnapshot> {
    const snapshot = await (await this.#graph(build)).getState(config, { subgraphs: true });
    this.note("state", snapshot);
    return snapshot;
  }

  /** Reads and notes the whole history, the thread's by default, newest first. */
  async history(build: BuildGraph, config: RunnableConfig = this.config): Promise<StateSnapshot[]> {
    const history = await historyOf(await this.#graph(build), config);
    this.note("history", history);
    return history;
  }

  /** Updates a state by hand and notes the result. */
  async update(
    build: BuildGraph,
    values: unknown,
    asNode?: string,
    config: RunnableConfig = this.config,
  ): Promise<RunnableConfig> {
    if (!(await this.#actBegins(build))) return this.config;
    const updated = await (await this.#graph(build)).updateState(config, values, asNode);
    this.note("updated", updated);
    await this.state(build);
    this.#actEnds();
    return updated;
  }

  /** Makes several updates by hand in one call. */
  async bulkUpdate(build: BuildGraph, supersteps: unknown): Promise<void> {
    if (!(await this.#actBegins(build))) return;
    this.note("updated", await (await this.#graph(build)).bulkUpdateState(this.config, supersteps));
    await this.state(build);
    this.#actEnds();
  }

  /** Plays a scenario, reads the whole history at the end, and returns all notes with ids and times replaced. */
  async run(play: (stage: Stage) => Promise<void>): Promise<Played> {
    try {
      await play(this);
    } catch (error) {
      if (!(error instanceof PartEnds)) throw error;
    }
    if (this.#last !== undefined && this.#options.histories) {
      const history = await this.#tryHistory(this.#last);
      // Reading a state by its id takes another path through the saver than listing. A third of the states is enough to test it.
      for (const { config } of history.filter((_, index) => index % 3 === 1))
        await this.#tryState(this.#last, config);
    }
    const normaliser = new Normaliser(this.#options.ordered);
    const notes = this.#notes.map(([label, value]): Note => [label, normaliser.normalise(value)]);
    return { notes, asLive: this.#asLive };
  }

  /** Whether an act belongs to this part. Before the first act of the part, notes the state that the earlier parts have left. */
  async #actBegins(build: BuildGraph): Promise<boolean> {
    const from = this.#options.part?.from ?? 0;
    this.#acts += 1;
    this.#last = build;
    if (this.#acts <= from) return false;
    if (from > 0 && this.#acts === from + 1) {
      await this.#tryState(build);
      if (this.#options.histories) await this.#tryHistory(build);
    }
    return true;
  }

  #actEnds(): void {
    if (this.#acts === this.#options.part?.to) throw new PartEnds();
  }

  /** Reads a state, or notes the error. Reading may fail because LangGraph applies pending writes, which may be invalid. */
  async #tryState(build: BuildGraph, config?: RunnableConfig): Promise<StateSnapshot | undefined> {
    try {
      return await this.state(build, config);
    } catch (error) {
      this.note("state that can't be read", error);
      return undefined;
    }
  }

  async #tryHistory(build: BuildGraph): Promise<StateSnapshot[]> {
    try {
      return await this.history(build);
    } catch (error) {
      this.note("history that can't be read", error);
      return [];
    }
  }

  async #graph(build: BuildGraph): Promise<PlayedGraph> {
    this.#last = build;
    return build(await this.#open());
  }

  /**
   * Streams a run and notes the chunks by namespace, first those of the root, then the others by name, because parallel subgraphs may
   * take turns in any order. If the run throws, no chunks are noted, because timing determines which of them arrive before the end.
   * Returns the last values of the root.
   */
  async #stream(graph: PlayedGraph, input: unknown, config: RunnableConfig): Promise<unknown> {
    const chunks = new Map<string, unknown[]>([["", []]]);
    let last: unknown;
    for await (const chunk of await graph.stream(input, { ...config, ...{ streamMode, subgraphs: true } })) {
      const [namespace, mode, payload] = chunk as [string[], string, unknown];
      const key = namespace.join("|");
      if (!chunks.has(key)) chunks.set(key, []);
      chunks.get(key)?.push([mode, plain(payload)]);
      if (key === "" && mode === "values") last = payload;
    }
    const namespaces = [...chunks].toSorted(([a], [b]) => compare(withoutIds(a), withoutIds(b)));
    for (const [namespace, of] of namespaces) this.note("streamed", { namespace, chunks: of });
    return last;
  }
}

const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** Whether the state contains everything in a result. Interrupts aren't part of the result. */
const readsAs = (result: unknown, values: unknown): boolean => {
  if (!isRecord(result)) return isDeepStrictEqual(result, values);
  const read = isRecord(values) ? values : {};
  return Object.entries(result).every(
    ([key, value]) => key === "__interrupt__" || isDeepStrictEqual(value, read[key]),
  );
};
