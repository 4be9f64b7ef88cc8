import { randomBytes } from "node:crypto";
import type { ThreadTag } from "@stratigraph/core/tier";
import type { Connection } from "./connection.ts";
import { decodeId, encodeId } from "./checkpointKeys.ts";
import type { KeyNames } from "./keyNames.ts";
import { encodeStrings, StringReader } from "./lengthPrefixed.ts";

/** Encodes a tag for a thread's hash. */
export function encodeTag({ key, value }: ThreadTag): Buffer {
  return encodeStrings([key, value]);
}

/** The inverse of {@link encodeTag}. */
export function decodeTag(tag: Buffer): ThreadTag {
  const reader = new StringReader(tag);
  return { key: reader.next().toString(), value: reader.next().toString() };
}

/** The encoded tags in a thread's field `g`, each in hexadecimal. */
export function tagsIn(field: Buffer | null | undefined): ReadonlySet<string> {
  const found = new Set<string>();
  if (!field) return found;
  for (const reader = new StringReader(field); !reader.done;) found.add(reader.next().toString("hex"));
  return found;
}

/** About how many of a tag's threads one ZSCAN reads. */
const stepSize = 500;

/**
 * Which threads carry a tag: for each tag a sorted set of thread ids. In a cluster it is in another slot than the threads, so no
 * script can write both. tagThread() writes the tag to the thread first, adds the thread to this index, and only then returns. So a
 * thread can be missing here only while its tagThread() is still running. An extra name does no harm, because readers look at the
 * tags of the thread itself.
 *
 * Every time a name is added, it gets a new random score. If a check finds that a name's thread is gone, the name is removed only if
 * its score is still the one from before the check. So a name that was added meanwhile stays.
 */
export class TagIndex {
  readonly #connection: Connection;
  readonly #keys: KeyNames;

  constructor(connection: Connection, keys: KeyNames) {
    this.#connection = connection;
    this.#keys = keys;
  }

  /** Indexes a thread after it was tagged. @throws StratigraphError "UNAVAILABLE" */
  async add(threadId: string, tags: readonly ThreadTag[]): Promise<void> {
    for (const tag of tags) {
      const key = this.#keys.tag(encodeTag(tag));
      await this.#connection.command("ZADD", key, randomBytes(6).readUIntBE(0, 6), encodeId(threadId));
      await this.#connection.command("SADD", this.#keys.tags, key);
    }
  }

  /** All threads that the index names for a tag. @throws StratigraphError "UNAVAILABLE" */
  async threads(tag: ThreadTag): Promise<ReadonlySet<string>> {
    const found = new Set<string>();
    const key = this.#keys.tag(encodeTag(tag));
    let cursor = "0";
    do {
      const reply = await this.#connection.command("ZSCAN", key, cursor, "COUNT", stepSize);
      const [next, flat] = reply as [Buffer, Buffer[]];
      for (let i = 0; i < flat.length; i += 2) found.add(decodeId(flat[i]!));
      cursor = next.toString();
    } while (cursor !== "0");
    return found;
  }

  /** Removes a thread's name unless the thread carries the tag. Never rejects, because an extra name does no harm. */
  async check(threadId: string, tag: Buffer): Promise<void> {
    await this.#check(this.#keys.tag(tag), threadId, (field) => tagsIn(field).has(tag.toString("hex"))).catch(
      () => undefined,
    );
  }

  /**
   * Looks at two random names of a random tag, and removes those whose threads are gone. Redis doesn't tell the index when a thread
   * expires, so this is called for each name that is added to the index of all threads.
   */
  async sample(): Promise<void> {
    const picked = (await this.#connection.command("SRANDMEMBER", this.#keys.tags)) as Buffer | null;
    if (picked === null) return;
    const key = picked.toString();
    const members = (await this.#connection.command("ZRANDMEMBER", key, 2)) as Buffer[];
    if (members.length === 0) await this.#connection.command("SREM", this.#keys.tags, key);
    for (const member of members) await this.#check(key, decodeId(member), (field) => field !== null);
  }

  async #check(key: string, threadId: string, carries: (field: Buffer | null) => boolean): Promise<void> {
    const score = (await this.#connection.command("ZSCORE", key, encodeId(threadId))) as Buffer | null;
    if (score === null) return;
    const [thread] = this.#keys.thread(threadId);
    const [id, field] = (await this.#connection.command("HMGET", thread, "id", "g")) as (Buffer | null)[];
    if (id?.toString() === threadId && carries(field ?? null)) return;
    await this.#connection.run("unindex", [key], [encodeId(threadId), score]);
  }
}
