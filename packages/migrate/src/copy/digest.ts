import { createHash } from "node:crypto";
import { StratigraphSerializer } from "@stratigraph/core";
import type { Checkpoint, CheckpointMetadata } from "@langchain/langgraph-checkpoint";
import type { SourceCheckpoint, SourceWrite } from "../contract/source.ts";

/** What a checkpoint holds, as digests, to compare two copies of it without keeping either in memory. */
export interface CheckpointDigest {
  /** Of parent, header and metadata. */
  readonly about: string;
  /** By channel. */
  readonly values: ReadonlyMap<string, string>;
  /** One per pending write. */
  readonly writes: readonly string[];
}

/** Makes digests of decoded checkpoints: equal values have equal digests, however they are stored. */
export class Digests {
  // What is compared has been through a serializer before, so that no class is unknown, or it was stored as plain data.
  readonly #serde = new StratigraphSerializer({ unknownClasses: "plain" });
  /** Checkpoints share values that didn't change. */
  readonly #known = new WeakMap<object, string>();

  of({ parentId, checkpoint, metadata, writes }: SourceCheckpoint): CheckpointDigest {
    const { channel_values, ...header } = checkpoint;
    const values = Object.entries(channel_values).filter(([, value]) => value !== undefined);
    return {
      about: this.#about(parentId, header, metadata),
      values: new Map(values.map(([channel, value]) => [channel, this.#value(value)])),
      writes: writes.map((write) => this.#write(write)),
    };
  }

  #about(
    parentId: string | undefined,
    header: Omit<Checkpoint, "channel_values">,
    metadata: CheckpointMetadata,
  ): string {
    // The run's id stands in the metadata of some savers and beside it in others.
    const { run_id: _runId, ...rest } = metadata as CheckpointMetadata & { readonly run_id?: unknown };
    return this.#value([parentId ?? null, sorted(header), sorted(rest)]);
  }

  #write({ taskId, channel, value }: SourceWrite): string {
    return `${JSON.stringify([taskId, channel])}${this.#value(value)}`;
  }

  #value(value: unknown): string {
    if (typeof value !== "object" || value === null) return this.#digest(value);
    const known = this.#known.get(value) ?? this.#digest(value);
    this.#known.set(value, known);
    return known;
  }

  #digest(value: unknown): string {
    const [type, bytes] = this.#serde.dumps(value);
    return createHash("sha256").update(`${type}\0`).update(bytes).digest("base64url");
  }
}

/** Plain objects with their keys in order, as databases may reorder them. */
function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (typeof value !== "object" || value === null || Object.getPrototypeOf(value) !== Object.prototype)
    return value;
  const entries = Object.entries(value).filter(([, each]) => each !== undefined);
  entries.sort(([a], [b]) => (a < b ? -1 : 1));
  return Object.fromEntries(entries.map(([key, each]) => [key, sorted(each)]));
}

/** What of a checkpoint isn't in its copy, in words; empty where all of it is. The copy may have got more pending writes since. */
export function missingIn(copy: CheckpointDigest, original: CheckpointDigest): string[] {
  const missing: string[] = [];
  if (copy.about !== original.about) missing.push("its header or metadata differs");
  for (const [channel, digest] of original.values)
    if (copy.values.get(channel) !== digest) missing.push(`channel ${JSON.stringify(channel)} differs`);
  for (const channel of copy.values.keys())
    if (!original.values.has(channel)) missing.push(`channel ${JSON.stringify(channel)} has a value`);
  const writes = new Map<string, number>();
  for (const write of copy.writes) writes.set(write, (writes.get(write) ?? 0) + 1);
  const lost = original.writes.filter((write) => {
    const left = writes.get(write) ?? 0;
    writes.set(write, left - 1);
    return left <= 0;
  });
  if (lost.length > 0) missing.push(`${lost.length} pending writes are missing`);
  return missing;
}
