import { tmpdir } from "node:os";
import type { MergeableGraph } from "@stratigraph/branch";
import type { TierSaver } from "@stratigraph/core";
import type { Context, Progress } from "@stratigraph/operations";

/** What a test gives a context beside its saver. */
interface Given {
  readonly graph?: MergeableGraph;
  /** Other storages, by what they are called in inputs. */
  readonly places?: Readonly<Record<string, TierSaver>>;
  readonly signal?: AbortSignal;
  readonly redact?: readonly string[];
  /** Default: the folder for temporary files. */
  readonly cwd?: string;
  readonly onProgress?: (progress: Progress) => void;
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
    redact: given.redact ?? [],
    cwd: given.cwd ?? tmpdir(),
    origin: "a test",
  };
}
