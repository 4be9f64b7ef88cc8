import type { SerializerProtocol } from "@langchain/langgraph-checkpoint";
import { StratigraphSerializer } from "@stratigraph/core";
import { checkOptions } from "@stratigraph/core/internal";
import type { Digest } from "../identity/fingerprint.ts";
import type { RecordedEntry, TrailHeader } from "./line.ts";
import type { TrailSource } from "./lines.ts";
import { RecordedTrail } from "./recordedTrail.ts";
import { shownResult, type TrailEntry } from "./trail.ts";

/** Options of {@link readTrail}. */
export interface ReadTrailOptions {
  /** Revives recorded results: the recorded checkpointer's serde, if it has types of its own. Default: Stratigraph's. */
  readonly serde?: SerializerProtocol | undefined;
}

/** An exported trail that is being read. It can be iterated once. */
export interface TrailFile extends AsyncIterable<TrailEntry> {
  /** The first line. @throws StratigraphError "JOURNAL_BROKEN" if it isn't a header */
  header(): Promise<TrailHeader>;
  /**
   * Number of the last line if it is incomplete, for instance because the exporting process was killed. The entries before it are returned,
   * but not that one. Undefined until all lines were read, and if the last one is complete.
   */
  readonly torn: number | undefined;
}

/**
 * Reads an exported trail, line by line; needs no storage. Returns the entries as `journal.trail()` does. Checks that the lines are entries
 * in order, each after the one that it names as its previous one. `verifyTrail` proves whether a journal made them.
 * @param source a stream, other chunks of UTF-8, or the path of a file
 * @throws InvalidOptionError; StratigraphError "JOURNAL_BROKEN" while it is read, with `data`: line, seq, why; errors of the source
 *
 * @example
 * for await (const { seq, event, tool, args } of readTrail("incident.jsonl")) console.log(seq, event.type, tool, args);
 */
export function readTrail(source: TrailSource, options: ReadTrailOptions = {}): TrailFile {
  checkOptions<ReadTrailOptions>("readTrail", options, { serde: true });
  const { serde = new StratigraphSerializer() } = options;
  const recorded = new RecordedTrail(source);
  return {
    header: () => recorded.header(),
    get torn() {
      return recorded.torn;
    },
    [Symbol.asyncIterator]: () => shownEntries(recorded, serde),
  };
}

async function* shownEntries(
  recorded: AsyncIterable<RecordedEntry>,
  serde: SerializerProtocol,
): AsyncGenerator<TrailEntry> {
  const tools = new Map<Digest, string>();
  for await (const { entry, args, result, calls = [] } of recorded) {
    const { event } = entry;
    for (const { call, tool } of calls) tools.set(call, tool);
    if ("tool" in event) tools.set(event.call, event.tool);
    const tool = "call" in event ? tools.get(event.call) : undefined;
    yield {
      ...entry,
      ...(tool === undefined ? {} : { tool }),
      ...(args === undefined ? {} : { args: JSON.parse(args) as unknown }),
      result: () => shownResult(serde, result),
    };
  }
}
