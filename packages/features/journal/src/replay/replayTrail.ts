import type { SerializerProtocol } from "@langchain/langgraph-checkpoint";
import { InvalidOptionError, StratigraphSerializer } from "@stratigraph/core";
import { checkOptions } from "@stratigraph/core/internal";
import { Sealing, type SignOptions } from "../log/sealing.ts";
import type { RecordedEntry } from "../trail/line.ts";
import type { TrailSource } from "../trail/lines.ts";
import { RecordedTrail, trailBroken } from "../trail/recordedTrail.ts";
import { Recording } from "./recording.ts";
import { Replay, type ReplayOptions } from "./replay.ts";

/** Options of {@link replayTrail}. */
export interface ReplayTrailOptions extends ReplayOptions {
  /** The keys that the journal signs with: its fingerprints are hashed with one of them. */
  readonly sign?: SignOptions | undefined;
}

/**
 * Opens an exported trail for replaying. Needs no storage, and no service that the tools reach.
 * @param source a stream, other chunks of UTF-8, or the path of a file
 * @throws StratigraphError "JOURNAL_BROKEN", "KEY_MISSING"; InvalidOptionError
 *
 * @example
 * const replay = await replayTrail("incident.jsonl");
 * await replay.follow(() => graphOf(replay.tools(tools, { pay: "once" })).invoke(input));
 */
export async function replayTrail(source: TrailSource, options: ReplayTrailOptions = {}): Promise<Replay> {
  checkOptions<ReplayTrailOptions>("replayTrail", options, { onMiss: true, serde: true, sign: true });
  const { sign, ...replaying } = options;
  const sealing = new Sealing(sign);
  return await replayOf(
    intact(new RecordedTrail(source), sealing),
    sealing,
    "replayTrail",
    replaying,
    new StratigraphSerializer(),
  );
}

/** A replay of the entries of a trail. @throws InvalidOptionError */
export async function replayOf(
  trail: AsyncIterable<RecordedEntry>,
  sealing: Sealing,
  where: string,
  options: ReplayOptions,
  defaultSerde: SerializerProtocol,
): Promise<Replay> {
  checkOptions<ReplayOptions>(where, options, { onMiss: true, serde: true });
  const { onMiss = "throw", serde = defaultSerde } = options;
  if (onMiss !== "throw" && onMiss !== "run")
    throw new InvalidOptionError("onMiss", onMiss, 'Use "throw" or "run".');
  return new Replay(await Recording.read(trail, serde), sealing, onMiss);
}

/** A trail whose entries must all be there, unchanged: otherwise calls would be made again. @throws StratigraphError "JOURNAL_BROKEN" */
async function* intact(trail: RecordedTrail, sealing: Sealing): AsyncGenerator<RecordedEntry> {
  const { head } = await trail.header();
  let last = 0;
  for await (const line of trail) {
    const { seq, keyId } = line.entry;
    // Without keys, the code that opens the replay refuses a signed trail.
    if ((keyId === undefined || sealing.activeKey !== undefined) && !sealing.isIntact(line.entry))
      throw trailBroken(
        `Entry ${seq}`,
        { seq },
        "it isn't as it was made, or the keys in sign.keys aren't those that it was signed with",
      );
    last = seq;
    yield line;
  }
  if (last < head.seq)
    throw trailBroken(
      `Entry ${last + 1}`,
      { seq: last + 1 },
      `the file ends before it, and its first line names entry ${head.seq} as the last one`,
    );
}
