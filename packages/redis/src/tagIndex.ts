import { randomBytes } from "node:crypto";
import type { ThreadTag } from "@stratigraph/core";
import type { Connection } from "./connection.ts";
import { decodeId, encodeId } from "./checkpointKeys.ts";
import type { KeyNames } from "./keyNames.ts";
import { encodeStrings, StringReader } from "./lengthPrefixed.ts";

/** A tag as a thread's hash has it. */
export function encodeTag({ key, value }: ThreadTag): Buffer {
  return encodeStrings([key, value]);
}

/** The tag of {@link encodeTag}. */
export function decodeTag(tag: Buffer): ThreadTag {
  const reader = new StringReader(tag);
  return { key: reader.next().toString(), value: reader.next().toString() };
}

/** The tags in a thread's field, as {@link encodeTag} makes them, in hexadecimal. */
export function tagsIn(field: Buffer | null | undefined): ReadonlySet<string> {
  const found = new Set<string>();
  if (!field) return found;
  for (const reader = new StringReader(field); !reader.done;) found.add(reader.next().toString("hex"));
  return found;
}

/** Names that one step of reading a tag's threads looks at, about. */
const stepSize = 500;

/**
 * Which threads carry a tag: for each tag a sorted set of thread ids. In a cluster it lives in another slot than the threads,
 * so no script can write both. A thread is tagged first and then put in here, before its writer goes on; so a thread may be
 * missing only while nobody was told that it is tagged, and a name too many is told by the thread itself, which knows its tags.
 *
 * A name's score is random, and another one each time it is put in. Who finds that the thread of a name isn't there takes it out
 * if it has the score still that it had before looking: so no name is taken out that was put in meanwhile.
 */
export class TagIndex {
  readonly #connection: Connection;
  readonly #keys: KeyNames;

  constructor(connection: Connection, keys: KeyNames) {
    this.#connection = connection;
    this.#keys = keys;
  }

  /** After a thread was tagged. @throws StratigraphError "UNAVAILABLE" */
  async add(threadId: string, tags: readonly ThreadTag[]): Promise<void> {
    for (const tag of tags) {
      const key = this.#keys.tag(encodeTag(tag));
      await this.#connection.command("ZADD", key, randomBytes(6).readUIntBE(0, 6), encodeId(threadId));
      await this.#connection.command("SADD", this.#keys.tags, key);
    }
  }

  /** Every thread that is named under a tag. @throws StratigraphError "UNAVAILABLE" */
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

  /** Takes a thread's name out, unless the thread carries the tag. Failing does no harm: a name too many stays. */
  async check(threadId: string, tag: Buffer): Promise<void> {
    await this.#check(this.#keys.tag(tag), threadId, (field) => tagsIn(field).has(tag.toString("hex"))).catch(
      () => undefined,
    );
  }

  /**
   * Where threads expire, nobody tells the index. So each name that comes into the index of all threads has two names of a tag looked at, all
   * picked at random, and takes out those of threads that are gone; the last one takes the sorted set along.
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
