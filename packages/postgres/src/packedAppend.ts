import { goesOn, type AppendRequest, type AppendWritesRequest } from "@stratigraph/core";
import { isLongKey, keyOf } from "./keys.ts";
import { Pieces } from "./pieces.ts";

/** Bits of append_1's p_flags. */
const flag = { relies: 1, goesOn: 2, branches: 4 } as const;

/** One request as append_1 takes it, ready to be put together with others. */
export interface PackedAppend {
  readonly threadId: string;
  readonly seen: number | undefined;
  readonly flags: number;
  /** Key and long id of the thread. */
  readonly opening: Pieces;
  readonly records: Pieces;
  /** Per record: its tags, and the head move of its namespace, from 1; 0 for none. */
  readonly tags: readonly string[];
  readonly places: readonly number[];
  readonly blobs: Pieces;
  readonly writes: Pieces;
  readonly longIds: Pieces;
  readonly heads: Pieces;
  /** Per head move: how many expected heads follow it, -1 for any. */
  readonly expected: readonly number[];
  /** Of all pieces. */
  readonly bytes: number;
}

/** An append, its bytes still where the caller has them. */
export function packedAppend(request: AppendRequest): PackedAppend {
  const { threadId, heads, blobs, seen, relies, onConflict } = request;
  const writes = request.writes ?? [];
  const packed = opened(threadId);
  const places = new Map<string, number>();
  for (const [i, { namespace }] of heads.entries()) if (!places.has(namespace)) places.set(namespace, i + 1);
  const records = lastOfEach(request.records);
  for (const { checkpointId, namespace, parentId, lostTo, runId, blobs: hashes, body } of records) {
    const ids = packed.records.id(checkpointId).id(namespace).id(parentId).id(lostTo).id(runId);
    ids.hashes(hashes).bytes(body);
  }
  for (const { hash, base, bytes } of blobs) packed.blobs.hash(hash).hash(base).bytes(bytes);
  for (const { checkpointId, namespace, taskId, blobs: hashes, body } of writes)
    packed.writes.id(checkpointId).id(namespace).id(taskId).hashes(hashes).bytes(body);
  for (const { namespace, to, expected } of heads) {
    packed.heads.id(namespace).id(to);
    if (expected !== "any") for (const head of expected) packed.heads.id(head);
  }
  return closed(packed, {
    seen,
    flags:
      (relies === true ? flag.relies : 0) |
      (goesOn(request) ? flag.goesOn : 0) |
      (onConflict === "branch" ? flag.branches : 0),
    tags: records.map(({ tags }) => `"{${tags.join(",")}}"`),
    places: records.map(({ namespace }) => places.get(namespace) ?? 0),
    expected: heads.map(({ expected }) => (expected === "any" ? -1 : expected.length)),
  });
}

/** One batch of pending writes: an append of nothing else. */
export function packedWrites(request: AppendWritesRequest): PackedAppend {
  const { threadId, checkpointId, namespace, taskId, blobs, body, newBlobs, seen, relies } = request;
  const packed = opened(threadId);
  packed.writes.id(checkpointId).id(namespace).id(taskId).hashes(blobs).bytes(body);
  for (const { hash, base, bytes } of newBlobs) packed.blobs.hash(hash).hash(base).bytes(bytes);
  return closed(packed, {
    seen,
    flags: (relies === true ? flag.relies : 0) | (seen === undefined ? flag.goesOn : 0),
    tags: [],
    places: [],
    expected: [],
  });
}

type Groups = Pick<PackedAppend, "threadId" | "opening" | "records" | "blobs" | "writes" | "heads">;

function opened(threadId: string): Groups {
  const key = keyOf(threadId);
  return {
    threadId,
    opening: new Pieces().bytes(key).bytes(isLongKey(key) ? Buffer.from(threadId, "utf8") : undefined),
    records: new Pieces(),
    blobs: new Pieces(),
    writes: new Pieces(),
    heads: new Pieces(),
  };
}

function closed(
  groups: Groups,
  rest: Pick<PackedAppend, "seen" | "flags" | "tags" | "places" | "expected">,
): PackedAppend {
  const longIds = new Pieces();
  for (const group of [groups.records, groups.writes, groups.heads]) group.longIds(longIds);
  const all = [groups.records, groups.blobs, groups.writes, groups.heads];
  return { ...groups, ...rest, longIds, bytes: all.reduce((sum, { size }) => sum + size, 0) };
}

/** A record that comes twice is stored as it came last; one statement can't write a row twice. */
function lastOfEach(records: AppendRequest["records"]): AppendRequest["records"] {
  if (records.length < 2) return records;
  return [
    ...new Map(
      records.map((record) => [JSON.stringify([record.namespace, record.checkpointId]), record]),
    ).values(),
  ];
}
