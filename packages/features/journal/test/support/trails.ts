import { hashOfResult, type StoredResult } from "../../src/calls/storedResults.ts";
import { canonical } from "../../src/identity/canonical.ts";
import { Calls } from "../../src/log/calls.ts";
import type { Entry, JournalEvent } from "../../src/log/entry.ts";
import { newRecordId } from "../../src/log/records.ts";
import { Sealing } from "../../src/log/sealing.ts";
import { headerOf } from "../../src/trail/exportTrail.ts";
import { lineOf, type RecordedEntry } from "../../src/trail/line.ts";
import type { RecordNames } from "../../src/trail/trailCheck.ts";

/** A line of a trail with the names of its records. */
export interface NamedLine {
  readonly line: RecordedEntry;
  readonly names: RecordNames;
}

/** What is beside an entry that is made. */
interface Beside {
  readonly args?: string;
  readonly result?: StoredResult;
}

export const keys = { a: "a secret of sixteen bytes, a", b: "a secret of sixteen bytes, b" };

/** What stood beside entries when they were made. */
export const madeWith = new WeakMap<Entry, RecordedEntry>();

/** Makes a trail in memory, as a journal would. Each step is a number; what it does follows from that. */
export function trailOfSteps(
  steps: readonly number[],
  signedBy: (seq: number) => "a" | "b" | undefined,
): NamedLine[] {
  const lines: NamedLine[] = [];
  const calls = new Calls();
  const open: { call: string; claim: number }[] = [];
  const add = (event: JournalEvent, beside: Beside = {}): number => {
    const seq = calls.seq + 1;
    const keyId = signedBy(seq);
    const header = {
      v: 1 as const,
      seq,
      at: new Date(1_700_000_000_000 + seq * 1000).toISOString(),
      session: "s",
      prev: calls.hash,
      ...(keyId === undefined ? {} : { keyId }),
    };
    const entry: Entry = { ...header, event, hash: sealingOf(keyId).hashOf(header, event) };
    const states = event.type === "cut" ? (JSON.parse(canonical([...calls.all()])) as []) : undefined;
    const line = { entry, ...beside, ...(states === undefined ? {} : { calls: states }) };
    calls.fold(entry, `${entry.seq}`, states);
    const parentId = lines.at(-1)?.names.id;
    lines.push({ line, names: { id: newRecordId(seq), parentId } });
    madeWith.set(entry, line);
    return seq;
  };
  const next = (): Sealing => sealingOf(signedBy(calls.seq + 1));
  const resultOf = (step: number): StoredResult => ({
    type: step % 3 === 0 ? "bytes" : "json",
    bytes:
      step % 3 === 0
        ? new Uint8Array([255, step % 256, 0])
        : Buffer.from(JSON.stringify(`receipt ${step % 7}`)),
  });
  for (const step of steps) {
    const kind = step % 10;
    const args = canonical({ amount: step % 5 });
    const described = {
      call: `${(step % 6) + 1}`.repeat(64),
      tool: step % 2 === 0 ? "pay" : "mail",
      effects: "once" as const,
      previous: "",
      nth: 0,
      argsHash: next().hash(args),
      where: { step },
    };
    if (kind < 3) {
      const claim = add({ type: "claimed", ...described, attempt: 1, key: described.call }, { args });
      open.push({ call: described.call, claim });
    } else if (kind < 6 && open.length > 0) {
      const result = resultOf(step);
      const resultHash = hashOfResult(next(), result);
      add({ type: "succeeded", ...open.pop()!, resultHash, kept: true, ms: step }, { result });
    } else if (kind === 6) {
      const result = resultOf(step);
      const resultHash = hashOfResult(next(), result);
      add({ type: "read", ...described, resultHash, kept: true, ms: 1 }, { args, result });
    } else if (kind === 7) add({ type: "denied", ...described, by: "policy", reason: "over 500" }, { args });
    else if (kind === 8 && lines.length > 0) {
      const erased = 1 + (step % lines.length);
      add({ type: "erased", upTo: lines[erased - 1]!.line.entry.seq });
      for (const [n, { line, names }] of lines.slice(0, erased).entries()) {
        const { args: _args, result: _result, ...rest } = line;
        lines[n] = { line: rest, names };
      }
    } else if (kind === 9 && lines.length > 1) {
      const last = 1 + (step % (lines.length - 1));
      const callsHash = next().hash(canonical([...calls.all()]));
      add({
        type: "cut",
        last: lines[last - 1]!.line.entry.seq,
        lastHash: lines[last - 1]!.line.entry.hash,
        callsHash,
        thread: "t",
      });
      // A process that died has left some of what it was to remove.
      lines.splice(0, step % 4 === 0 ? 0 : last - (step % 2));
    } else add({ type: "note", about: "step", text: `number ${step}` });
  }
  return lines;
}

const sealings = new Map<string | undefined, Sealing>();

/** What makes hashes by a key; undefined: plain SHA-256. */
export function sealingOf(activeKey: "a" | "b" | undefined): Sealing {
  const known = sealings.get(activeKey);
  if (known !== undefined) return known;
  const sign = activeKey === undefined ? undefined : { keys, activeKey, unsigned: "accept" as const };
  const made = new Sealing(sign);
  sealings.set(activeKey, made);
  return made;
}

/** A trail as an exported file. */
export function fileOf(lines: readonly NamedLine[], sealing: Sealing): string {
  const last = lines.at(-1)?.line.entry;
  const head = { seq: last?.seq ?? 0, hash: last?.hash ?? "" };
  return [JSON.stringify(headerOf("ada", sealing, head)), ...lines.map(({ line }) => lineOf(line)), ""].join(
    "\n",
  );
}
