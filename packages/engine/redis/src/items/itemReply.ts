import type { ItemAddress, LoggedChange, StoredItem } from "@stratigraph/core/tier";
import { DamagedValue, StringReader } from "../lengthPrefixed.ts";
import { decodeAddress } from "./itemAddress.ts";
import type { Bodies } from "./space.ts";

// What scripts answer of items and log entries; lua/space.lua says how they are stored.

/** A body as the scripts answer it: null if it is large and only named. */
export type Body = Buffer | null;

interface DecodedBody {
  readonly createdAtMs: number;
  readonly note: Uint8Array | undefined;
  readonly value: Uint8Array;
}

/** The kinds of entries, by their last byte. */
const kinds: Readonly<Record<string, LoggedChange["kind"]>> = {
  p: "put",
  d: "delete",
  m: "message",
  n: "message",
};

/** @throws DamagedValue */
function decodeBody(version: string, body: Body, bodies: Bodies): DecodedBody {
  const bytes = body ?? bodies.get(version);
  const created = /^(\d+):/.exec(bytes?.toString("latin1", 0, 20) ?? "");
  if (bytes === undefined || created === null) throw new DamagedValue();
  const reader = new StringReader(bytes.subarray(created[0].length));
  const note = reader.next();
  return {
    createdAtMs: Number(created[1]),
    note: note.length === 0 ? undefined : note.subarray(1),
    value: reader.rest(),
  };
}

/** An item from its header and its body. */
export function itemFrom(at: ItemAddress, header: Buffer, body: Body, bodies: Bodies): StoredItem {
  const [version, created, updated] = header.toString("latin1").split(":") as [string, string, string];
  const { note, value } = decodeBody(version, body, bodies);
  return {
    ...{ namespace: at.namespace, key: at.key, value, version: Number(version) },
    ...{ createdAtMs: Number(created), updatedAtMs: Number(updated), note },
  };
}

/** The version of an entry of the log. */
export function versionOf(entry: Buffer): number {
  return Number(entry.toString("latin1", entry.length - 32, entry.length - 16));
}

/** When an entry was made, in milliseconds since 1970. */
export function timeOf(entry: Buffer): number {
  return Number(entry.toString("latin1", entry.length - 16, entry.length - 1));
}

/** An entry of the log from its name and its body, and when its item was created. */
export function entryFrom(
  name: Buffer,
  body: Body,
  bodies: Bodies,
): { readonly entry: LoggedChange; readonly createdAtMs: number } {
  const version = versionOf(name);
  const letter = name.toString("latin1", name.length - 1);
  const kind = kinds[letter];
  const { note, value, createdAtMs } = decodeBody(String(version), body, bodies);
  if (kind === undefined || note === undefined) throw new DamagedValue();
  const entry: LoggedChange = {
    ...decodeAddress(name.subarray(1, -33)),
    ...{
      version,
      atMs: timeOf(name),
      kind,
      note,
      value: letter === "d" || letter === "n" ? undefined : value,
    },
  };
  return { entry, createdAtMs };
}
