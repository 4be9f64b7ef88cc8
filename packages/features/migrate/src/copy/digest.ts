import { createHash } from "node:crypto";
import { StratigraphSerializer } from "@stratigraph/core";
import type { CheckpointMetadata } from "@langchain/langgraph-checkpoint";
import type { SourceCheckpoint } from "../contract/source.ts";

/** The contents of a checkpoint as digests. They allow comparing two copies without keeping either in memory. */
export interface CheckpointDigest {
  /** The digest of parent, header and metadata. */
  readonly about: string;
  /** The digests of the values, by channel. */
  readonly values: ReadonlyMap<string, string>;
  /** One digest per pending write. */
  readonly writes: readonly string[];
}

/** Makes digests of decoded checkpoints: equal values have equal digests, however they are stored. */
export class Digests {
  // The compared values come from a serializer. So their classes are known, or they were stored as plain data.
  readonly #serde = new StratigraphSerializer({ unknownClasses: "plain" });
  readonly #through: ((value: unknown) => Promise<unknown>) | undefined;
  /** Digests of values that were already seen: checkpoints share values that didn't change. */
  readonly #known = new WeakMap<object, string>();

  /** @param through passes a value through the other copy's serializer; absent if that loses nothing */
  constructor(through?: (value: unknown) => Promise<unknown>) {
    this.#through = through;
  }

  async of({
    parentId,
    checkpoint,
    metadata,
    writes,
    stateVersion = 1,
  }: SourceCheckpoint): Promise<CheckpointDigest> {
    const { channel_values, ...header } = checkpoint;
    // Some savers keep the run's id in the metadata, others outside.
    const { run_id: _runId, ...rest } = metadata as CheckpointMetadata & { readonly run_id?: unknown };
    const values = new Map<string, string>();
    for (const [channel, value] of Object.entries(channel_values))
      if (value !== undefined) values.set(channel, await this.value(value));
    const written: string[] = [];
    for (const { taskId, channel, value } of writes)
      written.push(`${JSON.stringify([taskId, channel])}${await this.value(value)}`);
    const about = this.#digest([
      parentId ?? null,
      sorted(header),
      sorted(await this.#passed(rest)),
      stateVersion,
    ]);
    return { about, values, writes: written };
  }

  /** The digest of one value. */
  async value(value: unknown): Promise<string> {
    if (typeof value !== "object" || value === null) return this.#digest(await this.#passed(value));
    const known = this.#known.get(value) ?? this.#digest(await this.#passed(value));
    this.#known.set(value, known);
    return known;
  }

  async #passed(value: unknown): Promise<unknown> {
    return this.#through === undefined ? value : await this.#through(value);
  }

  #digest(value: unknown): string {
    const [type, bytes] = this.#serde.dumps(value);
    return createHash("sha256").update(`${type}\0`).update(bytes).digest("base64url");
  }
}

/** Sorts the keys of plain objects, as databases may reorder them. */
function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (typeof value !== "object" || value === null || Object.getPrototypeOf(value) !== Object.prototype)
    return value;
  const entries = Object.entries(value).filter(([, each]) => each !== undefined);
  entries.sort(([a], [b]) => (a < b ? -1 : 1));
  return Object.fromEntries(entries.map(([key, each]) => [key, sorted(each)]));
}

/** Describes what the copy of a checkpoint lacks; empty if it lacks nothing. The copy may have got more pending writes since. */
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
