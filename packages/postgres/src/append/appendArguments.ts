import { BinaryArgument } from "../wire/binaryArgument.ts";
import { hashesText, hashText } from "../wire/hex.ts";
import { keyText, longIdText } from "../wire/keys.ts";
import type { PendingAppend } from "./pendingAppend.ts";

/**
 * The arguments of append_3 and append_thread_1 for many requests: lists of rows as JSON, and the bytes that they point into. Requests of
 * one thread must be in different rounds. The answer has rows in the order of the requests.
 */
export function appendArguments(
  rounds: readonly (readonly PendingAppend[])[],
): [lists: string, data: Buffer] {
  const lists = new AppendLists();
  for (const [i, round] of rounds.entries()) for (const request of round) lists.add(request, i + 1);
  return lists.values();
}

/** Fields are named as in the types append_…_1 of sql/000007.sql, which say what they mean; null may be left out. */
class AppendLists {
  readonly #requests: object[] = [];
  readonly #records: object[] = [];
  readonly #blobs: object[] = [];
  readonly #writes: object[] = [];
  readonly #heads: object[] = [];
  readonly #longIds: object[] = [];
  readonly #data = new BinaryArgument();

  add({ threadId, records, blobs, writes = [], heads, ...rest }: PendingAppend, round: number): void {
    this.#requests.push({
      round,
      key: keyText(threadId),
      long_id: longIdText(threadId),
      seen: rest.seen,
      relies: rest.relies,
      goes_on: rest.goesOn,
      branches: rest.onConflict === "branch",
    });
    const request = this.#requests.length;
    const longIds = new Map<string, string>();
    const key = (id: string | undefined): string | undefined => {
      if (id === undefined) return undefined;
      const text = keyText(id);
      const longId = longIdText(id);
      if (longId !== undefined) longIds.set(text, longId);
      return text;
    };
    const moves = new Map<string, number>();
    for (const { namespace, to, expected } of heads) {
      this.#heads.push({
        request,
        ns: key(namespace),
        id: key(to),
        expected: expected === "any" ? undefined : expected.map(key),
      });
      if (!moves.has(namespace)) moves.set(namespace, this.#heads.length);
    }
    for (const { checkpointId, namespace, parentId, lostTo, runId, tags, blobs: hashes, body } of records) {
      this.#records.push({
        request,
        move: moves.get(namespace),
        id: key(checkpointId),
        ns: key(namespace),
        parent: key(parentId),
        lost_to: key(lostTo),
        run: key(runId),
        tags,
        blobs: hashesText(hashes),
        body_start: this.#data.add(body),
        body_length: body.length,
      });
    }
    for (const { hash, base, bytes } of blobs) {
      this.#blobs.push({
        request,
        hash: hashText(hash),
        base: hashText(base),
        bytes_start: this.#data.add(bytes),
        bytes_length: bytes.length,
      });
    }
    for (const { checkpointId, namespace, taskId, blobs: hashes, body } of writes) {
      this.#writes.push({
        request,
        id: key(checkpointId),
        ns: key(namespace),
        task: key(taskId),
        blobs: hashesText(hashes),
        body_start: this.#data.add(body),
        body_length: body.length,
      });
    }
    for (const [text, id] of longIds) this.#longIds.push({ request, key: text, id });
  }

  values(): [lists: string, data: Buffer] {
    const filled = (list: readonly object[]): readonly object[] | undefined =>
      list.length === 0 ? undefined : list;
    const lists = {
      requests: this.#requests,
      records: filled(this.#records),
      blobs: filled(this.#blobs),
      writes: filled(this.#writes),
      heads: filled(this.#heads),
      long_ids: filled(this.#longIds),
    };
    return [JSON.stringify(lists), this.#data.value()];
  }
}
