import type { Point, ReadPoint } from "@stratigraph/branch";
import { deltaChannels, readDeltaValues, readPoint } from "@stratigraph/branch/internal";
import { NotFoundError, type TierSaver } from "@stratigraph/core";
import { isLangGraphChannel, type Typed } from "@stratigraph/core/internal";
import type { BlobHash } from "@stratigraph/core/tier";

/** One channel of a checkpoint, its value as the serde wrote it. */
export interface ChannelState {
  readonly channel: string;
  readonly version: string | number | undefined;
  /** The serde's format and bytes. */
  readonly stored: Typed;
  /**
   * True for a DeltaChannel of which the checkpoint holds no value. Its reducer isn't known here, so the value is an approximation:
   * the last stored value, followed by everything written since.
   */
  readonly rebuilt: boolean;
}

/** The state at one checkpoint. Its values are read one by one when they are asked for. */
export class State {
  readonly saver: TierSaver;
  readonly point: ReadPoint;
  readonly #deltas: readonly string[];

  private constructor(saver: TierSaver, point: ReadPoint) {
    this.saver = saver;
    this.point = point;
    this.#deltas = deltaChannels(point.body, point.metadata);
  }

  /** Reads a checkpoint without the saver recording that it was handed out. @throws NotFoundError, EvictedError, CorruptionError */
  static async read(saver: TierSaver, point: Point): Promise<State> {
    return new State(saver, await readPoint(saver, point));
  }

  /** The channels that have values, in the order of their names: those of the graph's author first. */
  channels(): string[] {
    const { manifest } = this.point.body;
    const stored = [...manifest.values()].filter(({ value }) => value !== undefined);
    const names = [...stored.map(({ channel }) => channel), ...this.#deltas];
    const rank = (name: string): string => `${isLangGraphChannel(name) ? 1 : 0}${name}`;
    return names.sort((a, b) => (rank(a) < rank(b) ? -1 : 1));
  }

  /** The version of a channel, and the hash of its value if it has one; undefined if the checkpoint doesn't name it. */
  entry(
    name: string,
  ): { readonly version: ChannelState["version"]; readonly hash: BlobHash | undefined } | undefined {
    const entry = this.point.body.manifest.get(name);
    if (entry === undefined) return undefined;
    const { version, value } = entry;
    return { version, hash: value !== undefined && "hash" in value ? value.hash : undefined };
  }

  /** The value of a channel; undefined if it has none. @throws CorruptionError; StratigraphError as the saver's getTuple */
  async channel(name: string): Promise<ChannelState | undefined> {
    const { stored, body, at } = this.point;
    const entry = body.manifest.get(name);
    const version = entry?.version;
    if (entry?.value !== undefined) {
      const typed = await this.saver.coder.serialized(at, name, entry.value, stored.blobs);
      return { channel: name, version, stored: typed, rebuilt: false };
    }
    if (!this.#deltas.includes(name)) return undefined;
    const values = await readDeltaValues(this.saver, this.point, [name]);
    if (!values.has(name)) return undefined;
    const typed = await this.saver.serde.dumpsTyped(values.get(name));
    return { channel: name, version, stored: typed, rebuilt: true };
  }

  /** As {@link channel}. @throws NotFoundError if it has no value; the error names the channels that have one */
  async existing(name: string): Promise<ChannelState> {
    const found = await this.channel(name);
    if (found !== undefined) return found;
    const { threadId, checkpointId } = this.point.at;
    const own = this.channels().filter((channel) => !isLangGraphChannel(channel));
    throw new NotFoundError(
      `Checkpoint ${checkpointId} of thread ${JSON.stringify(threadId)} has no value in the channel ${JSON.stringify(name)}. It has ${own.join(", ") || "none"}.`,
      { ...this.point.at, channel: name },
    );
  }
}
