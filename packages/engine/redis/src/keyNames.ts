import { createHash, randomUUID } from "node:crypto";
import { InvalidOptionError } from "@stratigraph/core";

/** Ids that can stand in a key unchanged: readable in redis-cli, without braces (hash tags) and without "~" (which marks hashed ids). */
const plainId = /^[\w.:-]{1,80}$/;

function idInKey(id: string): string {
  return plainId.test(id) ? id : `~${createHash("sha256").update(id).digest("base64url")}`;
}

/** Names of the keys under one prefix. */
export class KeyNames {
  readonly #prefix: string;

  /** @throws InvalidOptionError */
  constructor(prefix: string) {
    if (/[{}]/.test(prefix)) {
      throw new InvalidOptionError(
        "prefix",
        prefix,
        "Leave braces out: Redis Cluster takes what stands in them for the hash tag.",
      );
    }
    this.#prefix = prefix;
  }

  /**
   * A thread's hash and its sorted set, in one slot because they have the same hash tag. If two ids have the
   * same SHA-256, the scripts notice it, because the thread's Redis hash holds the full id.
   */
  thread(threadId: string): [string, string] {
    const tag = idInKey(threadId);
    return [`${this.#prefix}t:{${tag}}`, `${this.#prefix}i:{${tag}}`];
  }

  /** Temporary keys in the thread's slot, in which a copy is put together before it becomes the thread. */
  copyOf(threadId: string): [string, string] {
    const tag = `{${idInKey(threadId)}}:${randomUUID()}`;
    return [`${this.#prefix}ct:${tag}`, `${this.#prefix}ci:${tag}`];
  }

  /** The index of all threads: a sorted set, scored by when they were last written. */
  get threads(): string {
    return `${this.#prefix}threads`;
  }

  /**
   * The threads that may not be idle: a sorted set, scored as that of all threads. It has one member that is no thread's, once no other
   * thread can be one of them: see ThreadIndex.
   */
  get open(): string {
    return `${this.#prefix}open`;
  }

  /** The threads that carry a tag, or another tag with the same hash: a sorted set, see TagIndex. */
  tag(tag: Uint8Array): string {
    return `${this.#prefix}tag:${createHash("sha256").update(tag).digest("base64url")}`;
  }

  /** The set of all keys of {@link tag}. */
  get tags(): string {
    return `${this.#prefix}tags`;
  }

  lease(name: string): string {
    return `${this.#prefix}lease:${idInKey(name)}`;
  }

  /** The Redis hash that holds the check values of encryption keys. It never expires. */
  get keyChecks(): string {
    return `${this.#prefix}keychecks`;
  }

  lock(name: string): string {
    return `${this.#prefix}lock:${idInKey(name)}`;
  }

  /**
   * The keys of the store, or of a workspace, in one slot; lua/space.lua lists them. The store's hash tag is no id's. Workspaces whose
   * names have the same SHA-256 are told apart as threads are.
   */
  space(workspace: string | undefined): string[] {
    const tag = workspace === undefined ? "~" : idInKey(workspace);
    return ["s", "so", "sn", "se", "sl", "sh", "sc"].map((kind) => `${this.#prefix}${kind}:{${tag}}`);
  }

  /** The keys of a cache, in one slot; lua/cache.lua lists them. The hash tag is no id's. */
  cache(name: string): string[] {
    return ["ce", "cu", "cx", "cn", "cm"].map((kind) => `${this.#prefix}${kind}:{~cache-${name}}`);
  }

  /** The index of all workspaces: a sorted set in the order of their names. */
  get workspaces(): string {
    return `${this.#prefix}workspaces`;
  }

  /** The channel for news of workspaces. */
  get news(): string {
    return `${this.#prefix}news`;
  }

  /** The index of all runs that have a set of threads: a sorted set, scored by when a run last began to write to a further thread. */
  get runs(): string {
    return `${this.#prefix}runs`;
  }

  /** The set of threads that a run wrote to. Runs with equal hashes share it: readers check the run of each record. */
  run(runId: string): string {
    return `${this.#prefix}run:${idInKey(runId)}`;
  }
}
