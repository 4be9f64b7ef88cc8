import { randomInt } from "node:crypto";
import type { ThreadTag } from "@stratigraph/core/tier";
import type { Connection } from "./connection.ts";
import { decodeId, encodeId, type Bytes } from "./checkpointKeys.ts";
import type { KeyNames } from "./keyNames.ts";
import { DamagedValue, encodeStrings, StringReader } from "./lengthPrefixed.ts";

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

/** How many names a sweep looks at. */
const sweepSize = 200;

/** How many scores a millisecond has. Those that older versions gave are random, and lower than any of today. */
const perMs = 1024;

/**
 * Which threads carry a tag: for each tag a sorted set of thread ids. In a cluster it is in another slot than the threads, so no
 * script can write both. tagThread() writes the tag to the thread first, adds the thread to this index, and only then returns. So a
 * thread can be missing here only while its tagThread() is still running. An extra name does no harm, because readers look at the
 * tags of the thread itself.
 *
 * Every time a name is added, it gets another score, random within the second. If a check finds that a name's thread is gone, the name is
 * removed only if its score is still the one from before the check. So a name that was added meanwhile stays.
 */
export class TagIndex {
  readonly #connection: Connection;
  readonly #keys: KeyNames;
  /** Where the next sweep continues: the tags at hand, the names of the first one that stay, and the rest of all tags. */
  #unswept: string[] = [];
  #kept = 0;
  #cursor = "0";

  constructor(connection: Connection, keys: KeyNames) {
    this.#connection = connection;
    this.#keys = keys;
  }

  /** Indexes a thread after it was tagged. @throws StratigraphError "UNAVAILABLE" */
  async add(threadId: string, tags: readonly ThreadTag[]): Promise<void> {
    const second = Math.floor(Date.now() / 1000) * 1000;
    for (const tag of tags) {
      const key = this.#keys.tag(encodeTag(tag));
      const score = second * perMs + randomInt(1000 * perMs);
      await this.#connection.command("ZADD", key, score, encodeId(threadId));
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
    await this.#check(this.#keys.tag(tag), encodeId(threadId)).catch(() => undefined);
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
    if (members.length === 0) await this.#forget(key);
    for (const member of members) await this.#check(key, member);
  }

  /**
   * Removes the names of threads that are gone or don't carry the tag, and tags without names. Each call looks at some names, and continues
   * where the last one ended.
   * @param beforeMs only names that were added before this instant, in milliseconds since 1970
   * @returns how many names were removed
   */
  async sweep(beforeMs: number): Promise<number> {
    let [left, swept, isOver] = [sweepSize, 0, false];
    while (left > 0) {
      const [key] = this.#unswept;
      if (key === undefined) {
        if (isOver) break;
        const reply = await this.#connection.command(
          ...(["SSCAN", this.#keys.tags, this.#cursor, "COUNT", sweepSize] as const),
        );
        const [next, found] = reply as [Buffer, Buffer[]];
        this.#unswept = found.map(String);
        this.#cursor = next.toString();
        isOver = this.#cursor === "0";
        continue;
      }
      const range = ["-inf", `(${beforeMs * perMs}`, "LIMIT", this.#kept, left] as const;
      const members = (await this.#connection.command("ZRANGEBYSCORE", key, ...range)) as Buffer[];
      for (const member of members) {
        if (await this.#check(key, member)) swept += 1;
        else this.#kept += 1;
      }
      if (members.length === 0) await this.#forget(key);
      if (members.length < left) {
        this.#unswept.shift();
        this.#kept = 0;
      }
      left -= Math.max(1, members.length);
    }
    return swept;
  }

  /** Whether a name was removed, because its thread doesn't carry the tag. */
  async #check(key: string, member: Bytes): Promise<boolean> {
    const score = (await this.#connection.command("ZSCORE", key, member)) as Buffer | null;
    if (score === null) return false;
    const threadId = decodeId(Buffer.from(member));
    const [thread] = this.#keys.thread(threadId);
    const [id, field] = (await this.#connection.command("HMGET", thread, "id", "g")) as [
      Buffer | null,
      Buffer | null,
    ];
    if (id === null ? field !== null : id.toString() !== threadId || this.#isIn(field, key)) return false;
    if ((await this.#connection.run("unindex", [key], [member, score])) !== 1) return false;
    await this.#forget(key);
    return true;
  }

  /** Whether a thread's field `g` has the tag of a key. True if it is damaged: then nobody knows. */
  #isIn(field: Buffer | null, key: string): boolean {
    try {
      return [...tagsIn(field)].some((tag) => this.#keys.tag(Buffer.from(tag, "hex")) === key);
    } catch (error) {
      if (error instanceof DamagedValue) return true;
      throw error;
    }
  }

  /** Removes a tag from the set of all tags if no thread has it. Whoever tags one meanwhile adds its name first, so the tag comes back. */
  async #forget(key: string): Promise<void> {
    if ((await this.#connection.command("EXISTS", key)) !== 0) return;
    await this.#connection.command("SREM", this.#keys.tags, key);
    if ((await this.#connection.command("EXISTS", key)) !== 0)
      await this.#connection.command("SADD", this.#keys.tags, key);
  }
}
