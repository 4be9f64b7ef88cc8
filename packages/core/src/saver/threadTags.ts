import { createHmac } from "node:crypto";
import type { RunnableConfig } from "@langchain/core/runnables";
import { remembering } from "./remembering.ts";
import { configurableOf } from "./address.ts";
import { shown } from "../contract/checkOptions.ts";
import { InvalidOptionError } from "../contract/errors.ts";
import { tagKey } from "../contract/tagKey.ts";
import { maxTagBytes, type ThreadTag, type Tier } from "../contract/tier.ts";
import { tagsThreads, type ThreadTagger } from "../contract/tierExtensions.ts";

/** Tags of a thread, as callers name them: `{ user_id: "anna" }`. A number or a boolean is the same tag as its text. */
export type Tags = Readonly<Record<string, string | number | boolean>>;

/** Threads that are remembered as tagged; one that is forgotten is tagged again, which costs a statement and changes nothing. */
const rememberedThreads = 10_000;
/** Tags that one call may name: each doubles the forms that {@link ThreadTags.forms} looks for. */
const mostNamed = 8;
/** Sets of tags that are remembered per thread: as many as it has users. */
const rememberedSets = 64;

/** The name of a tag, checked. @throws InvalidOptionError */
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

/** The text of a tag. @throws InvalidOptionError */
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
 * The tags that a saver gives threads: which ones a writer's config names, in which form they are stored, and which threads
 * have them already, so that a thread costs one statement per process and not one per put.
 */
export class ThreadTags {
  readonly #tier: Tier;
  readonly #names: readonly string[];
  readonly #hashKey: Uint8Array | undefined;
  /** By thread: what was tagged, by the tags' text, with the revision at which it was. */
  readonly #tagged = remembering<Map<string, Promise<number>>>(rememberedThreads);

  /** @throws InvalidOptionError where tags are asked for of a tier that keeps none */
  constructor(tier: Tier, names: readonly string[], hashKey: Uint8Array | undefined) {
    this.#tier = tier;
    this.#names = names;
    this.#hashKey = hashKey;
    if (names.length > 0) this.tagger("threadTags");
  }

  /** The tier, as one that keeps tags. @throws InvalidOptionError that names the option they were asked for by */
  tagger(field: string): Tier & ThreadTagger {
    if (tagsThreads(this.#tier)) return this.#tier;
    throw new InvalidOptionError(
      field,
      `tier ${this.#tier.name}`,
      "It keeps no tags of threads; those of Stratigraph for memory, PostgreSQL, Redis and S3 do, and stacks with one of these as warm tier.",
    );
  }

  /** Tags as they are stored: under encryption their values are keyed hashes. @throws InvalidOptionError on none at all */
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

  /** Tags to find threads by, as they are stored. @throws InvalidOptionError on none at all, or a tier that keeps none */
  asked(tags: unknown): ThreadTag[] {
    const stored = this.stored("tag", tags);
    this.tagger("tag");
    return stored;
  }

  /**
   * As {@link asked}, in every form that they may be stored in: under encryption, threads that were tagged before it was turned
   * on carry them as they are. A deletion must not miss those.
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

  /** Tags to take away, in every form as in {@link forms}: one that stayed would have the thread deleted by it. @throws InvalidOptionError */
  untagged(tags: Tags): ThreadTag[] {
    const stored = this.stored("tags", tags);
    return this.#hashKey === undefined ? stored : [...stored, ...plainOf(tags)];
  }

  /** The tags that a writer's config names. Before anything is awaited. @throws InvalidOptionError, InvalidAddressError */
  named(config: RunnableConfig): ThreadTag[] {
    if (this.#names.length === 0) return [];
    const found = new Map<string, ThreadTag>();
    for (const [place, values] of [
      ["configurable", configurableOf(config)],
      ["metadata", config.metadata ?? {}],
    ] as const) {
      for (const name of this.#names) {
        const value: unknown = Object.hasOwn(values, name) ? values[name] : undefined;
        if (value === undefined || value === null) continue;
        const tag = { key: name, value: textOf(`${place}.${name}`, value) };
        found.set(tagKey(tag), this.#stored(tag.key, tag.value));
      }
    }
    return [...found.values()];
  }

  /**
   * Has a thread carry tags before it is written to. One statement, unless this process did it before.
   * @param begins the write may begin the thread anew, unread: what is remembered may be of a thread that was deleted since
   * @returns the revision of the thread when it was tagged; undefined where there was nothing to do
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

  /** The thread's tags may be gone: it was deleted, or isn't there. */
  forget(threadId: string): void {
    this.#tagged.delete(threadId);
  }

  #stored(key: string, value: string): ThreadTag {
    if (this.#hashKey === undefined) return { key, value };
    const hash = createHmac("sha256", this.#hashKey).update(`thread tag\0${tagKey({ key, value })}`);
    return { key, value: hash.digest("base64url") };
  }
}
