import type { TierSaver } from "@stratigraph/core";
import type { RunnableGraph } from "../run/runnableGraph.ts";
import type { ParsedValues } from "../values/parsedValues.ts";
import type { RunEvent } from "./events.ts";
import type { SignOptions } from "@stratigraph/journal";

/** The progress of a long operation. */
export interface Progress {
  readonly done: number;
  /** Absent if nobody knows how many there are. */
  readonly total?: number | undefined;
  /** What is counted: "threads", "checkpoints". */
  readonly unit: string;
  /** What is being worked on: the id of a thread, for example. */
  readonly at?: string | undefined;
}

/** What an operation runs on. Each front makes one; an operation knows nothing of command lines and requests. */
export interface Context {
  /** The saver of the storage in use, opened at the first call. */
  saver(): Promise<TierSaver>;
  /**
   * Another storage of ours: a URL, or the name of an environment of the config. The maker of the context closes it.
   * @throws InvalidOptionError; StratigraphError if it can't be opened
   */
  open(place: string): Promise<TierSaver>;
  /**
   * A compiled graph of the config, whose checkpointer is the context's saver. Default: the only one there is.
   * @throws StratigraphError "NOT_FOUND" if the config names no such graph
   */
  graph(name?: string): Promise<RunnableGraph>;
  /** Aborted to end a long operation after the current thread: it then returns a cursor from which it can go on. */
  readonly signal: AbortSignal;
  /** Called every now and then with the progress of a long operation. */
  progress(progress: Progress): void;
  /** Called with events, such as the tokens of a graph that runs: JSON. Absent if nobody listens. */
  emit?(event: RunEvent): void;
  /** Paths of values that aren't shown, such as `messages.*.content`. */
  readonly redact: readonly string[];
  /** The long values that were shown last, for a person who browses in them. Absent: each call reads and parses them again. */
  readonly parsed?: ParsedValues | undefined;
  /** The keys that journals are signed with, if there are any: to verify trails, and to write answers into them. */
  readonly sign?: SignOptions | undefined;
  /** The absolute path of the folder for relative paths in inputs, such as that of a file to export to. */
  readonly cwd: string;
  /** Where the settings came from, for people: "stratigraph.config.ts", "STRATIGRAPH_URL", … */
  readonly origin: string;
}
