import { createHash, randomUUID } from "node:crypto";
import { InvalidOptionError } from "@stratigraph/core";

/** Ids that can stand in a key as they are: readable in redis-cli, and without braces or "~", which have meanings there. */
const plainId = /^[\w.:-]{1,80}$/;

function tagOf(id: string): string {
  return plainId.test(id) ? id : `~${createHash("sha256").update(id).digest("base64url")}`;
}

/** Names of the keys under one prefix. */
export class KeyNames {
  readonly #prefix: string;

  /** @throws InvalidOptionError */
  constructor(prefix: string) {
    if (/[{}]/.test(prefix)) {
      throw new InvalidOptionError(
        "keyPrefix",
        prefix,
        "Leave braces out: Redis Cluster takes what stands in them for the hash tag.",
      );
    }
    this.#prefix = prefix;
  }

  /** A thread's hash and its sorted set: the same hash tag, so the same slot. A hash of another id is told by the full id inside. */
  thread(threadId: string): [string, string] {
    const tag = tagOf(threadId);
    return [`${this.#prefix}t:{${tag}}`, `${this.#prefix}i:{${tag}}`];
  }

  /** Where a copy of a thread is gathered before it becomes the thread: in its slot, for nobody else to see. */
  copyOf(threadId: string): [string, string] {
    const tag = `{${tagOf(threadId)}}:${randomUUID()}`;
    return [`${this.#prefix}ct:${tag}`, `${this.#prefix}ci:${tag}`];
  }

  /** The index of all threads: a sorted set, scored by when they were last written. */
  get threads(): string {
    return `${this.#prefix}threads`;
  }

  /** The threads that carry a tag, and whose hashes meet: a sorted set, see TagIndex. */
  tag(tag: Uint8Array): string {
    return `${this.#prefix}tag:${createHash("sha256").update(tag).digest("base64url")}`;
  }

  /** KeyNames of all {@link tag}s: a set. */
  get tags(): string {
    return `${this.#prefix}tags`;
  }

  lease(name: string): string {
    return `${this.#prefix}lease:${tagOf(name)}`;
  }

  /** The index of all runs that have a set: a sorted set, scored by when the run last came to another thread. */
  get runs(): string {
    return `${this.#prefix}runs`;
  }

  /** The threads that a run wrote to: a set. Shared by runs whose hashes meet, as whoever reads it checks the record's run. */
  run(runId: string): string {
    return `${this.#prefix}run:${tagOf(runId)}`;
  }
}
