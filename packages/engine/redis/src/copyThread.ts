import { StratigraphError } from "@stratigraph/core";
import { threadExists, type BlobHash } from "@stratigraph/core/tier";
import type { Connection } from "./connection.ts";
import { decodeId } from "./checkpointKeys.ts";
import type { KeyNames } from "./keyNames.ts";
import { largeBlobs } from "./largeBlobs.ts";
import { decodeBatch, decodeRecord } from "./fieldValues.ts";
import { StringReader } from "./lengthPrefixed.ts";

/** How many fields one command reads. Their values are under 32 kB each, so a page has at most 2 MB, and usually about 20 kB. */
const pageFields = 64;
/** How many bytes one command writes. A longer value gets a command of its own. */
const stagedBytes = 1 << 20;
/** When an unfinished copy expires, counted from its last piece. A process that is still copying sends the next piece much sooner. */
const gatheredLivesMs = 600_000;
/** How often copying is tried. It starts over if the source was written to meanwhile, or if the unfinished copy was evicted. */
const attempts = 8;

/** Fields that aren't copied, because they belong to the thread itself. Nor are fields `k…`, which mark copies from another tier. */
const ownFields: ReadonlySet<string> = new Set("id rev del dead rem evi at n nh pin flo era q".split(" "));

/** What copying needs besides the thread ids. */
export interface CopyContext {
  readonly connection: Connection;
  readonly keys: KeyNames;
  readonly ttlMs: number;
}

/** How many fields, records and heads the unfinished copy holds. */
interface Gathered {
  fields: number;
  records: number;
  heads: number;
}

/** A field of a hash and its value. */
type Field = readonly [name: Buffer, value: Buffer];

/**
 * Copies a thread. The target may be in another cluster slot, so no command can copy on the server. The source is read and
 * written in small pieces to a temporary key in the target's slot, so that the server can serve other clients in between. Then
 * one script renames the temporary key to the thread's.
 * @returns when the copy was made, in milliseconds since 1970, and how it stands, for the indexes of threads; undefined if the source has no checkpoints
 * @throws StratigraphError "THREAD_EXISTS", "OVERLOADED"
 */
export async function copyThread(
  context: CopyContext,
  sourceId: string,
  targetId: string,
): Promise<{ readonly due: number; readonly stands: string } | undefined> {
  const { connection, keys, ttlMs } = context;
  const [source] = keys.thread(sourceId);
  for (let attempt = 1; attempt <= attempts; attempt += 1) {
    const revision = await revisionOf(connection, source, sourceId);
    if (revision === undefined) return undefined;
    const places = keys.copyOf(targetId);
    try {
      const { fields, records, heads } = await gathered(connection, sourceId, source, places);
      // Every write to a thread increments its revision. If the revision is unchanged, the pieces fit together.
      if ((await revisionOf(connection, source, sourceId)) !== revision) continue;
      const args = [targetId, ttlMs, revision, fields, records, heads];
      const answer = await connection.run("paste", [...keys.thread(targetId), ...places], args);
      const [said, found, stands] = answer as [Buffer, (Buffer | number | null)?, Buffer?];
      if (said.toString() === "exists") throw threadExists(targetId, headIn(found));
      if (said.toString() === "ok") return { due: Number(found), stands: String(stands) };
    } finally {
      await connection.command("UNLINK", ...places).catch(() => undefined);
    }
  }
  throw new StratigraphError(
    "OVERLOADED",
    `Thread ${JSON.stringify(sourceId)} was written to during each of ${attempts} attempts to copy it. Repeat the call when it is idle.`,
    { tier: "redis", threadId: sourceId },
  );
}

/** Undefined if the thread has no checkpoints. */
async function revisionOf(
  connection: Connection,
  key: string,
  threadId: string,
): Promise<string | undefined> {
  const [id, revision, heads] = (await connection.command(
    "HMGET",
    key,
    "id",
    "rev",
    "nh",
  )) as (Buffer | null)[];
  if (id?.toString() !== threadId || heads === null || heads?.toString() === "0") return undefined;
  return revision?.toString();
}

async function gathered(
  connection: Connection,
  sourceId: string,
  source: string,
  places: readonly string[],
): Promise<Gathered> {
  const sum: Gathered = { fields: 0, records: 0, heads: 0 };
  const stage = async (fields: readonly Field[]): Promise<void> => {
    const args = [gatheredLivesMs, fields.length, ...fields.flat()];
    const [added, records, heads] = (await connection.run("stage", places, args)) as [number, number, number];
    sum.fields += added;
    sum.records += records;
    sum.heads += heads;
  };
  const blobs = new SeenBlobs(sourceId);
  let cursor = "0";
  do {
    // HSCAN would return the values of large blobs all at once, so they are left out here and read below.
    const page = await connection.command("HSCAN", source, cursor, "MATCH", "[^B]*", "COUNT", pageFields);
    const [next, flat] = page as [Buffer, Buffer[]];
    const fields = fieldsIn(flat).filter(
      ([name]) => name[0] !== 0x6b && !ownFields.has(name.toString("latin1")),
    );
    for (const field of fields) blobs.see(field);
    for (const piece of piecesOf(fields)) await stage(piece);
    cursor = next.toString();
  } while (cursor !== "0");
  const sizes = await sizesOf(connection, source, blobs.large);
  for await (const found of largeBlobs(connection, source, sizes))
    for (const piece of piecesOf(found.map(([hash, bytes]): Field => [Buffer.from(`B${hash}`), bytes])))
      await stage(piece);
  return sum;
}

/** Collects which blobs were read and which were only named by others. The latter are the large ones. */
class SeenBlobs {
  readonly #threadId: string;
  readonly #named = new Set<BlobHash>();
  readonly #met = new Set<BlobHash>();

  constructor(threadId: string) {
    this.#threadId = threadId;
  }

  get large(): BlobHash[] {
    return [...this.#named].filter((hash) => !this.#met.has(hash));
  }

  see([name, value]: Field): void {
    switch (String.fromCharCode(name[0]!)) {
      case "b":
        this.#met.add(name.toString("latin1", 1));
        this.#name(new StringReader(value).next().toString());
        break;
      case "P":
        this.#name(name.toString("latin1", 1));
        this.#name(value.toString());
        break;
      case "r":
        for (const hash of decodeRecord(this.#threadId, name.subarray(1), value).blobs) this.#name(hash);
        break;
      case "w":
        for (const hash of decodeBatch(value).blobs) this.#name(hash);
    }
  }

  #name(hash: BlobHash): void {
    if (hash !== "") this.#named.add(hash);
  }
}

/** Sizes of large blobs, in bytes. Blobs that are gone are left out. */
async function sizesOf(
  connection: Connection,
  source: string,
  hashes: readonly BlobHash[],
): Promise<Map<BlobHash, number>> {
  const sizes = new Map<BlobHash, number>();
  for (let at = 0; at < hashes.length; at += pageFields) {
    const page = hashes.slice(at, at + pageFields);
    const found = await Promise.all(page.map((hash) => connection.command("HSTRLEN", source, `B${hash}`)));
    for (const [n, hash] of page.entries()) if (found[n] !== 0) sizes.set(hash, Number(found[n]));
  }
  return sizes;
}

function fieldsIn(flat: readonly Buffer[]): Field[] {
  const fields: Field[] = [];
  for (let n = 0; n < flat.length; n += 2) fields.push([flat[n]!, flat[n + 1]!]);
  return fields;
}

function* piecesOf(fields: readonly Field[]): Generator<Field[]> {
  let piece: Field[] = [];
  let bytes = 0;
  for (const field of fields) {
    const size = field[0].length + field[1].length;
    if (piece.length > 0 && bytes + size > stagedBytes) {
      yield piece;
      piece = [];
      bytes = 0;
    }
    piece.push(field);
    bytes += size;
  }
  if (piece.length > 0) yield piece;
}

function headIn(found: Buffer | number | null | undefined): string {
  return Buffer.isBuffer(found) ? decodeId(found) : "in another namespace";
}
