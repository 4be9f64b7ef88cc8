import { canonical } from "../identity/canonical.ts";
import type { Sealing } from "../log/sealing.ts";
import type { StoredResult } from "../calls/storedResults.ts";
import type { CallState } from "../log/callState.ts";
import type { Entry } from "../log/entry.ts";

/** A line of a trail: an entry, and the values stored with it. */
export interface RecordedEntry {
  readonly entry: Entry;
  /** Canonical JSON of the arguments; absent if the entry has none, or they were erased. */
  readonly args?: string | undefined;
  /** The serialised result; absent if the entry has none, it wasn't kept, or it was erased. */
  readonly result?: StoredResult | undefined;
  /** For an entry of the type "folded": the state after the entries so far. It isn't exported. */
  readonly fold?: Uint8Array | undefined;
  /** For an entry of the type "cut": the states of all calls when it was made. */
  readonly calls?: readonly CallState[] | undefined;
}

/** Number and hash of an entry. Kept elsewhere, it proves that a trail was neither truncated nor rewritten up to that entry. */
export interface TrailHead {
  /** Number of the entry; 0 for an empty journal. */
  readonly seq: number;
  /** `""` for an empty journal. */
  readonly hash: string;
}

/** The first line of an exported trail. */
export interface TrailHeader {
  /** Version of the format. */
  readonly stratigraphJournal: 1;
  readonly threadId: string;
  /** The last entry of the file. */
  readonly head: TrailHead;
  /** In ISO 8601. */
  readonly exportedAt: string;
  /** Which key the hash is made with; absent for plain SHA-256. */
  readonly keyId?: string | undefined;
  /** Hash of the other fields. */
  readonly hash: string;
}

/** The hash of a header. @throws StratigraphError "KEY_MISSING" */
export function hashOfHeader(
  sealing: Sealing,
  { stratigraphJournal, threadId, head, exportedAt, keyId }: Omit<TrailHeader, "hash">,
): string {
  const fields = canonical({ stratigraphJournal, threadId, head, exportedAt, keyId });
  return sealing.hash(fields, keyId ?? null, "header");
}

/**
 * Reads a line strictly: JSON in which no name occurs twice and nothing is left out, so that all readers read the same.
 * @throws Error
 */
function strictly(text: string): unknown {
  const found: unknown = JSON.parse(text);
  if (JSON.stringify(found) !== text)
    throw new Error("it isn't JSON as it was written: names occur twice, or there are blanks");
  return found;
}

/** An entry as a line of JSON, without a line break. */
export function lineOf({ entry, args, result, calls }: RecordedEntry): string {
  return JSON.stringify({ entry, args, result: result && resultFields(result), calls });
}

function resultFields({ type, bytes }: StoredResult): Record<string, string> {
  try {
    return { type, text: new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes) };
  } catch {
    return { type, base64: Buffer.from(bytes).toString("base64") };
  }
}

/** @throws Error that says what is wrong with the header */
export function parseHeader(text: string): TrailHeader {
  const names = ["stratigraphJournal", "threadId", "head", "exportedAt", "keyId", "hash"];
  const found = fieldsOf(strictly(text), names);
  const { stratigraphJournal: version, threadId, head, exportedAt, keyId, hash } = found;
  if (version !== 1)
    throw new Error(
      `it isn't the header of a trail in version 1 of the format (stratigraphJournal: ${String(version)})`,
    );
  const { seq, hash: headHash } = fieldsOf(head, ["seq", "hash"]);
  const texts = [threadId, exportedAt, hash, headHash, keyId ?? ""];
  if (!isCount(seq) || texts.some((field) => typeof field !== "string"))
    throw new Error("fields of the header are missing, or of the wrong type");
  return found as unknown as TrailHeader;
}

/** @throws Error that says what is wrong with the line */
export function parseLine(text: string): RecordedEntry {
  const found = fieldsOf(strictly(text), ["entry", "args", "result", "calls"]);
  const { entry, args, result, calls } = found;
  if (!isEntry(entry)) throw new Error("it isn't an entry");
  if (args !== undefined && typeof args !== "string") throw new Error("its arguments aren't text");
  if (args !== undefined) checkJson(args);
  if (calls !== undefined && !Array.isArray(calls)) throw new Error("its calls aren't a list");
  return {
    entry,
    ...(args === undefined ? {} : { args }),
    ...(result === undefined ? {} : { result: parseResult(result) }),
    ...(calls === undefined ? {} : { calls: calls as CallState[] }),
  };
}

function checkJson(text: string): void {
  try {
    JSON.parse(text);
  } catch {
    throw new Error("its arguments aren't JSON");
  }
}

/** Whether a value has the fields of an entry. Its hash proves whether a journal made it. */
export function isEntry(value: unknown): value is Entry {
  const { v, seq, at, session, prev, keyId, event, hash } = Object(value) as Partial<
    Record<keyof Entry, unknown>
  >;
  const { type } = Object(event) as { type?: unknown };
  return (
    v === 1 &&
    isCount(seq) &&
    seq > 0 &&
    typeof type === "string" &&
    (keyId === undefined || typeof keyId === "string") &&
    [at, session, prev, hash].every((field) => typeof field === "string")
  );
}

function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0;
}

function parseResult(value: unknown): StoredResult {
  const { type, text, base64 } = fieldsOf(value, ["type", "text", "base64"]);
  // The hash is over the type, a line break and the bytes: with another break, the beginning of the bytes would be ambiguous.
  if (typeof type === "string" && type.includes("\n"))
    throw new Error("the type of its result has a line break");
  if (typeof type === "string" && typeof text === "string" && base64 === undefined)
    return { type, bytes: Buffer.from(text) };
  if (typeof type !== "string" || typeof base64 !== "string" || text !== undefined)
    throw new Error("its result isn't { type, text } or { type, base64 }");
  const bytes = Buffer.from(base64, "base64");
  // Buffer ignores characters that aren't Base64.
  if (bytes.toString("base64") !== base64) throw new Error("its result isn't Base64");
  return { type, bytes };
}

/** The fields of an object that has no others: unknown fields wouldn't be covered by any hash. */
function fieldsOf(value: unknown, names: readonly string[]): Record<string, unknown> {
  if (typeof value !== "object" || value === null || Array.isArray(value))
    throw new Error("it isn't a JSON object");
  const unknown = Object.keys(value).find((name) => !names.includes(name));
  if (unknown !== undefined) throw new Error(`it has an unknown field ${JSON.stringify(unknown)}`);
  return value as Record<string, unknown>;
}
