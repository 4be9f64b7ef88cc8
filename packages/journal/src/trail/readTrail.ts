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
  /** What revives recorded results: that of the recorded checkpointer, where it has types of its own. Default: Stratigraph's. */
  readonly serde?: SerializerProtocol | undefined;
}

/** An exported trail that is being read. It can be gone through once. */
export interface TrailFile extends AsyncIterable<TrailEntry> {
  /** The first line. @throws StratigraphError "JOURNAL_BROKEN" where that isn't a header */
  header(): Promise<TrailHeader>;
  /**
   * Number of the last line, if the file ends within it, as that of a process that was killed while it exported does. The entries before
   * it are given, and that one isn't. Undefined before all lines were read, and where the last one is whole.
   */
  readonly torn: number | undefined;
}

/**
 * Reads an exported trail, line by line; needs no storage. Gives the entries as `journal.trail()` does. Checks that the lines are entries
 * in their order, each behind the one that it names as its previous one. Whether they are the ones that a journal made is told by
 * `verifyTrail`.
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
