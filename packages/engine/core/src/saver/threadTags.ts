import { createHmac } from "node:crypto";
import type { RunnableConfig } from "@langchain/core/runnables";
import { remembering } from "./remembering.ts";
import { configurableOf } from "./address.ts";
import { shown } from "../contract/checkOptions.ts";
import { InvalidOptionError } from "../contract/errors.ts";
import { tagKey } from "../contract/tagKey.ts";
import { maxTagBytes, type ThreadTag, type Tier } from "../contract/tier.ts";
import { tagsThreads, type ThreadTagger } from "../contract/tierExtensions.ts";

/** Tags of a thread, as callers give them: `{ user_id: "anna" }`. A number or boolean is the same tag as its text. */
export type Tags = Readonly<Record<string, string | number | boolean>>;

/** How many threads are remembered as tagged. One that is forgotten is tagged again, which costs a statement but changes nothing. */
const rememberedThreads = 10_000;
/** How many tags one call may name: each doubles the number of combinations in {@link ThreadTags.forms}. */
const mostNamed = 8;
/** How many sets of tags are remembered per thread. A thread that several users write to has one set for each. */
const rememberedSets = 64;

/** Checks the name of a tag, and returns it. @throws InvalidOptionError */
export function checkTagName(field: string, name: unknown): string {
  if (typeof name === "string" && name !== "" && fits(name)) return name;
  throw new InvalidOptionError(
    field,
    name === "" ? name : shown(name),
    `Pass the name of a tag: text of 1 to ${maxTagBytes} bytes of UTF-8, for example "user_id".`,
  );
}

function fits(text: string): boolean {
  return text.isWellFormed() && Buffer.byteLength(text) <= maxTagBytes;
}

/** The value of a tag as text. @throws InvalidOptionError */
function textOf(field: string, value: unknown): string {
  const isScalar = typeof value === "string" || typeof value === "boolean" || Number.isFinite(value);
  const text = isScalar ? String(value) : "";
  if (text !== "" && fits(text)) return text;
  const found = typeof value === "string" && text !== "" ? `text of ${Buffer.byteLength(text)} bytes` : value;
  throw new InvalidOptionError(
    field,
    shown(found),
    `Tags are text of 1 to ${maxTagBytes} bytes of well-formed UTF-8, finite numbers or booleans.`,
  );
}

/** Tags as they are stored without encryption. */
function plainOf(tags: Tags): ThreadTag[] {
  return Object.entries(tags).map(([key, value]) => ({ key, value: String(value) }));
}

/**
 * The tags that a saver gives to threads. Knows which tags a writer's config names, in which form tags are stored, and which
 * threads have been tagged already: so tagging costs one statement per thread and process, not one per put.
 */
export class ThreadTags {
  readonly #tier: Tier;
  readonly #names: readonly string[];
  readonly #hashKey: Uint8Array | undefined;
  /** For each thread: by the JSON text of a set of tags, the revision at which the thread was given this set. */
  readonly #tagged = remembering<Map<string, Promise<number>>>(rememberedThreads);

  /** @throws InvalidOptionError if there are names, but the tier keeps no tags */
  constructor(tier: Tier, names: readonly string[], hashKey: Uint8Array | undefined) {
    this.#tier = tier;
    this.#names = names;
    this.#hashKey = hashKey;
    if (names.length > 0) this.tagger("threadTags");
  }

  /** The tier, as one that keeps tags. @throws InvalidOptionError if it keeps none; `field` is the option that asked for tags */
  tagger(field: string): Tier & ThreadTagger {
    if (tagsThreads(this.#tier)) return this.#tier;
    throw new InvalidOptionError(
      field,
      `tier ${this.#tier.name}`,
      "It keeps no tags of threads; those of Stratigraph for memory, PostgreSQL, Redis and S3 do, and stacks with one of these as warm tier.",
    );
  }

  /** Tags as they are stored. With encryption their values are keyed hashes. @throws InvalidOptionError if there are none */
  stored(field: string, tags: unknown): ThreadTag[] {
    const isObject = typeof tags === "object" && tags !== null && !Array.isArray(tags);
    const entries = isObject ? Object.entries(tags) : [];
    if (entries.length === 0) {
      const found = isObject ? "an object without any" : shown(tags);
      throw new InvalidOptionError(field, found, 'Name at least one tag: { user_id: "anna" }.');
    }
    if (entries.length > mostNamed)
      throw new InvalidOptionError(field, `${entries.length} tags`, `Name ${mostNamed} at most in one call.`);
    return entries.map(([name, value]) => {
      checkTagName(`${field}.${shown(name)}`, name);
      return this.#stored(name, textOf(`${field}.${name}`, value));
    });
  }

  /** Tags to find threads by, as they are stored. @throws InvalidOptionError if there are none, or the tier keeps none */
  asked(tags: unknown): ThreadTag[] {
    const stored = this.stored("tag", tags);
    this.tagger("tag");
    return stored;
  }

  /**
   * As {@link asked}, in all combinations of the forms that each tag may be stored in. Threads that were tagged before encryption
   * was turned on carry plain tags, and a deletion must not miss those.
   */
  forms(tags: unknown): ThreadTag[][] {
    const stored = this.asked(tags);
    if (this.#hashKey === undefined) return [stored];
    const plain = plainOf(tags as Tags);
    return stored.reduce<ThreadTag[][]>(
      (forms, tag, n) => forms.flatMap((form) => [tag, plain[n]!].map((one) => [...form, one])),
      [[]],
    );
  }

  /** Tags to remove, in every form: if one form stayed, the thread would still be deleted by this tag. @throws InvalidOptionError */
  untagged(tags: Tags): ThreadTag[] {
    const stored = this.stored("tags", tags);
    return this.#hashKey === undefined ? stored : [...stored, ...plainOf(tags)];
  }

  /**
   * The tags that a writer's config names. Call it before anything is awaited.
   * @param also names of tags besides those of the option `threadTags`
   * @throws InvalidOptionError, InvalidAddressError
   */
  named(config: RunnableConfig, also: readonly string[] = []): ThreadTag[] {
    const names = also.length === 0 ? this.#names : [...new Set([...this.#names, ...also])];
    if (names.length === 0) return [];
    const found = new Map<string, ThreadTag>();
    for (const [place, values] of [
      ["configurable", configurableOf(config)],
      ["metadata", config.metadata ?? {}],
    ] as const) {
      for (const name of names) {
        const value: unknown = Object.hasOwn(values, name) ? values[name] : undefined;
        if (value === undefined || value === null) continue;
        const tag = { key: name, value: textOf(`${place}.${name}`, value) };
        found.set(tagKey(tag), this.#stored(tag.key, tag.value));
      }
    }
    return [...found.values()];
  }

  /**
   * Makes sure that a thread carries tags before it is written to. Costs one statement, unless this process did so before.
   * @param begins whether the write may begin the thread without having read it. Then the thread is tagged again, as it may have
   * been deleted since
   * @returns the revision of the thread when it was tagged; undefined if there are no tags
   */
  ensure(threadId: string, tags: readonly ThreadTag[], begins: boolean): Promise<number> | undefined {
    if (tags.length === 0) return undefined;
    const sets = this.#tagged.get(threadId) ?? new Map<string, Promise<number>>();
    const key = JSON.stringify(tags.map(tagKey));
    const before = begins ? undefined : sets.get(key);
    if (before !== undefined) return before;
    const tagging = this.tagger("threadTags").tagThread(threadId, tags);
    if (sets.size >= rememberedSets) sets.clear();
    this.#tagged.set(threadId, sets.set(key, tagging));
    tagging.catch(() => sets.delete(key));
    return tagging;
  }

  /** Forgets that a thread was tagged. Call it when the thread was deleted or isn't there, because its tags may be gone then. */
  forget(threadId: string): void {
    this.#tagged.delete(threadId);
  }

  #stored(key: string, value: string): ThreadTag {
    if (this.#hashKey === undefined) return { key, value };
    const hash = createHmac("sha256", this.#hashKey).update(`thread tag\0${tagKey({ key, value })}`);
    return { key, value: hash.digest("base64url") };
  }
}
