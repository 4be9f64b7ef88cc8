import { createHash } from "node:crypto";
import { EventLoopYielder } from "./eventLoopYielder.ts";
import { compress, decompress } from "./brotli.ts";
import {
  entriesFromJson,
  entriesToJson,
  type Entries,
  type EntriesJson,
  type StoredForm,
} from "./entries.ts";
import { storedForm } from "./recompression.ts";

/** The first bytes of a pack. */
const magic = Buffer.from("SGPACK1\n");

/** The largest content of a section, in bytes: reading one value decompresses its whole section. A longer entry gets its own section. */
const sectionBytes = 4 << 20;

/**
 * Brotli qualities: of a catalog, of a small pack that will soon be merged, of a large one, and of an entry with a section of its
 * own. Core has compressed such an entry already: a higher quality would take seconds and gain nothing.
 */
const qualities = { catalog: 9, small: 5, large: 9, alone: 1 } as const;

/** How a head refers to a pack. */
export interface PackRef {
  readonly key: string;
  /** Size of the whole object, in bytes. */
  readonly size: number;
  /** The catalog: its byte range, its size once decompressed, and the SHA-256 of the compressed bytes. */
  readonly catalog: readonly [start: number, end: number, size: number, hash: string];
}

/** A section: its byte range, its size once decompressed, and the SHA-256 of the compressed bytes. */
export type Section = readonly [start: number, end: number, size: number, hash: string];

/** The contents of a pack. */
export interface Catalog {
  readonly sections: readonly Section[];
  readonly entries: Entries;
}

interface CatalogJson extends EntriesJson {
  readonly thread: string;
  readonly sections: readonly (readonly [...Section, items: number])[];
}

/** SHA-256 as 64 lower-case hex digits. */
export function sha256(bytes: Uint8Array): string {
  return createHash("sha256").update(bytes).digest("hex");
}

/** Groups consecutive entries into sections, without splitting any. */
function sectionsOf(forms: readonly StoredForm[]): StoredForm[][] {
  const sections: StoredForm[][] = [];
  let size = Number.POSITIVE_INFINITY;
  for (const form of forms) {
    if (size + form.bytes.length > sectionBytes) {
      sections.push([]);
      size = 0;
    }
    sections.at(-1)!.push(form);
    size += form.bytes.length;
  }
  return sections;
}

/**
 * Makes a pack of entries and their bytes (in the order of `placesOf`). A pack is self-contained: it names its thread, and its last 16
 * bytes say where its catalog is.
 */
export async function encodePack(
  threadId: string,
  entries: Entries,
  bytes: readonly Uint8Array[],
  key: (hash: string) => string,
  large: boolean,
): Promise<{ ref: PackRef; content: Buffer; catalog: Catalog }> {
  const forms: StoredForm[] = [];
  const yielder = new EventLoopYielder();
  for (const each of bytes) {
    forms.push(await storedForm(each));
    await yielder.yieldIfDue();
  }
  const parts: Uint8Array[] = [magic];
  let end = magic.length;
  const sections: CatalogJson["sections"][number][] = [];
  for (const items of sectionsOf(forms)) {
    const content = Buffer.concat(items.map((item) => item.bytes));
    const quality = large ? qualities.large : qualities.small;
    const compressed = await compress(content, content.length > sectionBytes ? qualities.alone : quality);
    sections.push([end, end + compressed.length, content.length, sha256(compressed), items.length]);
    parts.push(compressed);
    end += compressed.length;
  }
  const json: CatalogJson = { thread: threadId, sections, ...entriesToJson(entries, forms) };
  const plain = Buffer.from(JSON.stringify(json));
  const catalog = await compress(plain, qualities.catalog);
  const trailer = Buffer.alloc(16);
  trailer.writeBigUInt64LE(BigInt(end), 0);
  trailer.writeBigUInt64LE(BigInt(plain.length), 8);
  const content = Buffer.concat([...parts, catalog, trailer]);
  const ref: PackRef = {
    key: key(sha256(content)),
    size: content.length,
    catalog: [end, end + catalog.length, plain.length, sha256(catalog)],
  };
  return { content, ref, catalog: catalogOf(json, ref.key) };
}

/** @throws RangeError if the bytes aren't the catalog that `ref` names */
export async function decodeCatalog(ref: PackRef, threadId: string, bytes: Uint8Array): Promise<Catalog> {
  const [, , size, hash] = ref.catalog;
  if (sha256(bytes) !== hash) throw new RangeError("its catalog has another SHA-256");
  const json = JSON.parse(Buffer.from(await decompress(bytes, size)).toString()) as CatalogJson;
  if (json.thread !== threadId) throw new RangeError(`it belongs to thread ${JSON.stringify(json.thread)}`);
  return catalogOf(json, ref.key);
}

function catalogOf(json: CatalogJson, pack: string): Catalog {
  let section = -1;
  let left = 0;
  let start = 0;
  const entries = entriesFromJson(json, (length, recompression) => {
    while (left === 0) {
      section += 1;
      left = json.sections[section]![4];
      start = 0;
    }
    left -= 1;
    start += length;
    return { pack, section, start: start - length, length, recompression };
  });
  return { sections: json.sections.map(([from, to, content, sum]) => [from, to, content, sum]), entries };
}

/** @throws RangeError if the bytes aren't the section */
export async function decodeSection([, , size, hash]: Section, bytes: Uint8Array): Promise<Uint8Array> {
  if (sha256(bytes) !== hash) throw new RangeError("a section has another SHA-256");
  return await decompress(bytes, size);
}
