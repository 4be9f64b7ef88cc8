import { tmpdir } from "node:os";
import type { TierSaver } from "@stratigraph/core";
import type { Context, Progress, RunEvent, RunnableGraph } from "../../../src/operations/index.ts";

/** What a test gives a context beside its saver. */
interface Given {
  readonly graph?: RunnableGraph;
  /** Other storages, by what they are called in inputs. */
  readonly places?: Readonly<Record<string, TierSaver>>;
  readonly signal?: AbortSignal;
  readonly redact?: readonly string[];
  readonly sign?: Context["sign"];
  /** Default: the folder for temporary files. */
  readonly cwd?: string;
  readonly onProgress?: (progress: Progress) => void;
  readonly onEvent?: (event: RunEvent) => void;
}

/** A context on a saver that the test opened and closes. */
export function testContext(saver: TierSaver, given: Given = {}): Context {
  return {
    saver: async () => saver,
    open: async (place) => {
      const found = given.places?.[place];
      if (found === undefined) throw new Error(`this test has no place ${place}`);
      return found;
    },
    graph: async () => {
      if (given.graph === undefined) throw new Error("this test has no graph");
      return given.graph;
    },
    signal: given.signal ?? new AbortController().signal,
    progress: (progress) => given.onProgress?.(progress),
    ...(given.onEvent === undefined ? {} : { emit: given.onEvent }),
    redact: given.redact ?? [],
    sign: given.sign,
    cwd: given.cwd ?? tmpdir(),
    origin: "a test",
  };
}
