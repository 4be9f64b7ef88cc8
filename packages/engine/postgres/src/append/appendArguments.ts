import { outcomeLetters } from "@stratigraph/core/internal";
import { neededBlobs, type AppendRequest } from "@stratigraph/core/tier";
import { BinaryArgument } from "../wire/binaryArgument.ts";
import { hashesText, hashText } from "../wire/hex.ts";
import { keyText, longIdText } from "../wire/keys.ts";
import type { PendingAppend } from "./pendingAppend.ts";

/**
 * The arguments of append_1 and append_thread_1 for many requests: lists of rows as JSON, and the bytes that these point into. Requests
 * of one thread must be in different rounds. The answer has rows in the order of the requests.
 */
export function appendArguments(
  rounds: readonly (readonly PendingAppend[])[],
): [lists: string, data: Buffer] {
  const lists = new AppendLists();
  for (const [i, round] of rounds.entries()) for (const request of round) lists.add(request, i + 1);
  return lists.values();
}

/** The keys of one request's ids. Long ids are noted. */
class Keys {
  /** Originals of long ids by their keys, both as the text of a bytea. */
  readonly longIds = new Map<string, string>();

  of(id: string): string {
    const key = keyText(id);
    const original = longIdText(id);
    if (original !== undefined) this.longIds.set(key, original);
    return key;
  }

  ofMaybe(id: string | undefined): string | undefined {
    return id === undefined ? undefined : this.of(id);
  }
}

function needsOf(pending: PendingAppend): readonly (string | undefined)[] | undefined {
  if (pending.relies !== true) return undefined;
  const needed = neededBlobs(pending);
  return needed.size === 0 ? undefined : Array.from(needed, hashText);
}

/** Rows have the fields of the types append_…_1 in sql/000003.sql, which explains them. A field that is left out is null. */
class AppendLists {
  readonly #requests: object[] = [];
  readonly #records: object[] = [];
  readonly #blobs: object[] = [];
  readonly #writes: object[] = [];
  readonly #heads: object[] = [];
  readonly #longIds: object[] = [];
  readonly #data = new BinaryArgument();

  add(pending: PendingAppend, round: number): void {
    const { threadId, seen, relies, goesOn, onConflict } = pending;
    const request = this.#requests.push({
      round,
      key: keyText(threadId),
      long_id: longIdText(threadId),
      seen,
      relies,
      needs: needsOf(pending),
      goes_on: goesOn,
      branches: onConflict === "branch",
    });
    const keys = new Keys();
    const moves = this.#addHeads(request, pending.heads, keys);
    this.#addRecords(request, pending.records, keys, moves);
    this.#addBlobs(request, pending.blobs);
    this.#addWrites(request, pending.writes ?? [], keys);
    for (const [key, id] of keys.longIds) this.#longIds.push({ request, key, id });
  }

  /** @returns the place of each namespace's first head move in the list, from 1 */
  #addHeads(request: number, heads: AppendRequest["heads"], keys: Keys): ReadonlyMap<string, number> {
    const moves = new Map<string, number>();
    for (const { namespace, to, expected } of heads) {
      const place = this.#heads.push({
        request,
        ns: keys.of(namespace),
        id: keys.of(to),
        expected: expected === "any" ? undefined : expected.map((id) => keys.of(id)),
      });
      if (!moves.has(namespace)) moves.set(namespace, place);
    }
    return moves;
  }

  #addRecords(
    request: number,
    records: AppendRequest["records"],
    keys: Keys,
    moves: ReadonlyMap<string, number>,
  ): void {
    for (const { checkpointId, namespace, parentId, lostTo, runId, terms, blobs, body } of records) {
      this.#records.push({
        request,
        move: moves.get(namespace),
        id: keys.of(checkpointId),
        ns: keys.of(namespace),
        parent: keys.ofMaybe(parentId),
        lost_to: keys.ofMaybe(lostTo),
        run: keys.ofMaybe(runId),
        terms,
        blobs: hashesText(blobs),
        body_start: this.#data.add(body),
        body_length: body.length,
      });
    }
  }

  #addBlobs(request: number, blobs: AppendRequest["blobs"]): void {
    for (const { hash, base, bytes } of blobs) {
      this.#blobs.push({
        request,
        hash: hashText(hash),
        base: hashText(base),
        bytes_start: this.#data.add(bytes),
        bytes_length: bytes.length,
      });
    }
  }

  #addWrites(request: number, writes: NonNullable<PendingAppend["writes"]>, keys: Keys): void {
    for (const { checkpointId, namespace, taskId, blobs, body, outcome } of writes) {
      this.#writes.push({
        request,
        id: keys.of(checkpointId),
        ns: keys.of(namespace),
        task: keys.of(taskId),
        outcome: outcome === undefined ? undefined : outcomeLetters[outcome],
        blobs: hashesText(blobs),
        body_start: this.#data.add(body),
        body_length: body.length,
      });
    }
  }

  /** An empty list is left out. */
  values(): [lists: string, data: Buffer] {
    const lists = {
      requests: this.#requests,
      records: this.#records,
      blobs: this.#blobs,
      writes: this.#writes,
      heads: this.#heads,
      long_ids: this.#longIds,
    };
    const filled = Object.entries(lists).filter(([, rows]) => rows.length > 0);
    return [JSON.stringify(Object.fromEntries(filled)), this.#data.value()];
  }
}
