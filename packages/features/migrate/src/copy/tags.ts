import { StratigraphError, type TierSaver } from "@stratigraph/core";
import { tagsThreads, type ReadThroughStorage } from "@stratigraph/core/internal";
import type { ThreadTag } from "@stratigraph/core/tier";
import type { SourceTag } from "../contract/source.ts";

/** What a storage without encryption stores of it. No thread has this tag: names of tags aren't empty. */
const probe: ThreadTag = { key: "", value: "probe" };

/** A keyed hash, as storages with encryption keep it in the place of a tag's value. */
const hashed = /^[\w-]{43}$/;

/** A tag in the form in which a storage finds it. */
async function formIn(storage: Pick<ReadThroughStorage, "tagsIn">, { key, value }: ThreadTag) {
  const [form] = await storage.tagsIn({ [key]: value }, [key]);
  return form!;
}

/** Tells storages apart that hash tags with different keys; null: plain text. */
async function checkOf(storage: Pick<ReadThroughStorage, "tagsIn">): Promise<string | null> {
  const { value } = await formIn(storage, probe);
  return value === probe.value ? null : value;
}

/**
 * The tags of a thread. Under encryption only hashes of their values are stored. Most come from metadata that is stored with the
 * checkpoints too, and are recognised there.
 */
export async function tagsOf(saver: TierSaver, threadId: string): Promise<readonly SourceTag[]> {
  const { tier, coder } = saver;
  const tags = tagsThreads(tier) ? await tier.threadTags(threadId) : [];
  const check = tags.some(({ value }) => hashed.test(value)) ? await checkOf(saver) : null;
  const found = tags.map((tag): SourceTag => ({ ...tag, hash: hashed.test(tag.value) ? check : null }));
  for await (const { record } of check === null ? [] : tier.list({ threadId, recordsOnly: true })) {
    const left = [...found.entries()].filter(([, { hash }]) => hash !== null);
    if (left.length === 0) break;
    const metadata = await metadataOf(coder, record);
    for (const [n, { key, value }] of left)
      for (const said of [
        metadata[key],
        (metadata["thread"] as Record<string, unknown> | undefined)?.[key],
      ]) {
        const plain = isTag(said) ? { key, value: String(said) } : undefined;
        if (plain !== undefined && (plain.value === value || (await formIn(saver, plain)).value === value))
          found[n] = { ...plain, hash: null };
      }
  }
  return found;
}

type Decoder = TierSaver["coder"];

/** Empty if it is damaged: that is told where the checkpoint is read. */
async function metadataOf(coder: Decoder, record: Parameters<Decoder["decodeBody"]>[0]) {
  try {
    return (await coder.metadata(record, await coder.decodeBody(record))) as Record<string, unknown>;
  } catch (error) {
    if (!StratigraphError.is(error, "CORRUPT")) throw error;
    return {};
  }
}

function isTag(value: unknown): boolean {
  return (
    (typeof value === "string" && value !== "") || typeof value === "number" || typeof value === "boolean"
  );
}

/**
 * Gives a thread the tags that it has in the source, so that this storage finds it by them.
 * @returns what keeps it from being found, in words
 */
export async function bringTags(
  storage: Pick<ReadThroughStorage, "tagsIn" | "tier">,
  threadId: string,
  tags: readonly SourceTag[],
): Promise<readonly string[]> {
  if (tags.length === 0) return [];
  const { tier } = storage;
  if (!tagsThreads(tier)) return [`its tags aren't kept here, as ${tier.name} keeps none: ${namesOf(tags)}`];
  const check = await checkOf(storage);
  const [forms, unknown]: [ThreadTag[], ThreadTag[]] = [[], []];
  // Files of older versions don't tell hashes.
  for (const { key, value, hash = hashed.test(value) ? check : null } of tags) {
    if (hash === null) forms.push(await formIn(storage, { key, value }));
    else (hash === check ? forms : unknown).push({ key, value });
  }
  if (forms.length > 0) await tier.tagThread(threadId, forms);
  if (unknown.length === 0) return [];
  // Somebody may have given it the tags by hand.
  const there = (await tier.threadTags(threadId)).filter(
    ({ value }) => !unknown.some((tag) => tag.value === value),
  );
  const count = (of: readonly ThreadTag[], name: string) => of.filter(({ key }) => key === name).length;
  const left = unknown.filter(({ key }) => count(there, key) < count(tags, key));
  if (left.length === 0) return [];
  return [
    `it isn't found here by its tags ${namesOf(left)}, whose values the source has only as hashes under another hashKey: ` +
      `tag it with tagThread and repeat the copy`,
  ];
}

function namesOf(tags: readonly ThreadTag[]): string {
  return [...new Set(tags.map(({ key }) => JSON.stringify(key)))].join(", ");
}
