// long file: the kinds of damage, and what may still be taken for whole, belong together
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { inRounds } from "../../../../../test/rounds.ts";
import { verifyTrail } from "../../src/index.ts";
import { canonical } from "../../src/identity/canonical.ts";
import type { Entry } from "../../src/log/entry.ts";
import { RecordedTrail } from "../../src/trail/recordedTrail.ts";
import { lineOf, type RecordedEntry } from "../../src/trail/line.ts";
import { TrailCheck, type Verification } from "../../src/trail/trailCheck.ts";
import { fileOf, keys, madeWith, sealingOf, trailOfSteps, type NamedLine } from "../support/trails.ts";

/** Trails, and how often each is damaged. */
const [trails, damagesPerTrail] = inRounds({ few: [30, 50], all: [200, 50], soak: [1000, 50] });
const [files, damagesPerFile] = inRounds({ few: [20, 30], all: [400, 30], soak: [8000, 30] });

const signings = ["none", "a", "rotated", "begun"] as const;

function signedBy(signing: (typeof signings)[number]): (seq: number) => "a" | "b" | undefined {
  if (signing === "none") return () => undefined;
  if (signing === "a") return () => "a";
  return (seq) => (seq > 4 ? "b" : signing === "rotated" ? "a" : undefined);
}

const trailArbitrary = fc.record({
  steps: fc.array(fc.nat(100_000), { minLength: 6, maxLength: 14 }),
  signing: fc.constantFrom(...signings),
});
const damageArbitrary = fc.tuple(fc.nat(1_000_000), fc.nat(1_000_000), fc.nat(1_000_000));

type Damage = readonly [kind: number, where: number, how: number];

function sealingFor(signing: (typeof signings)[number]) {
  return sealingOf(signing === "none" ? undefined : signing === "a" ? "a" : "b");
}

function verified(
  lines: readonly NamedLine[],
  signing: (typeof signings)[number],
  head: Entry | undefined,
): Verification {
  const heads = head === undefined ? [] : [{ seq: head.seq, hash: head.hash, keptIn: "the kept head" }];
  const check = new TrailCheck(sealingFor(signing), heads);
  for (const { line, names } of lines) check.add(line, names);
  return check.end();
}

/**
 * What may be taken for whole: what was made, without its end where no head is known, and without a beginning that an entry says was cut
 * off.
 */
function mayBeOk(made: readonly RecordedEntry[], found: readonly RecordedEntry[], hasHead: boolean): boolean {
  const begins = found[0]?.entry.seq;
  const from = begins === undefined ? 0 : made.findIndex(({ entry }) => entry.seq === begins);
  if (from < 0 || !found.every((line, n) => isSame(made[from + n], line))) return false;
  if (hasHead && from + found.length !== made.length) return false;
  return (
    from === 0 || found.some(({ entry: { event } }) => event.type === "cut" && event.last >= begins! - 1)
  );
}

/** Whether a line is the one that was made. What was erased may be there again. */
function isSame(made: RecordedEntry | undefined, found: RecordedEntry): boolean {
  if (made === undefined) return false;
  const { args, result } = madeWith.get(made.entry)!;
  return (
    textOf(made) === textOf(found) ||
    textOf({ ...made, args: made.args ?? args, result: made.result ?? result }) === textOf(found) ||
    (made.args === undefined && textOf({ ...made, args }) === textOf(found)) ||
    (made.result === undefined && textOf({ ...made, result }) === textOf(found))
  );
}

const texts = new WeakMap<RecordedEntry, string>();

/** What a line says, whatever its JSON is written like. */
function textOf(line: RecordedEntry): string {
  const known = texts.get(line);
  if (known !== undefined) return known;
  const made = canonical(JSON.parse(lineOf(line)));
  texts.set(line, made);
  return made;
}

function lineIn({ line }: NamedLine): RecordedEntry {
  return line;
}

function clone({ line, names }: NamedLine): NamedLine {
  return { line: structuredClone(line), names };
}

/** The lines with one piece of damage. `names` tells that the damage is in what names records, which isn't part of a line. */
function damaged(
  made: readonly NamedLine[],
  [kind, where, how]: Damage,
): { lines: NamedLine[]; names?: boolean } {
  const lines = [...made];
  const at = where % lines.length;
  const other = how % lines.length;
  const change = (edit: (line: Changing) => void): NamedLine[] => {
    const copy = clone(lines[at]!);
    edit(copy.line as Changing);
    return lines.with(at, copy);
  };
  switch (kind % 15) {
    case 0:
      return { lines: change(({ entry }) => edited(entry, how)) };
    case 1:
      return { lines: lines.toSpliced(at, 1 + (how % 3)) };
    case 2:
      return { lines: lines.toSpliced(other, 0, clone(lines[at]!)) };
    case 3:
      return { lines: lines.with(at, lines[other]!).with(other, lines[at]!) };
    case 4:
      return { lines: lines.slice(0, at) };
    case 5:
      return { lines: change((line) => void delete line[how % 2 === 0 ? "args" : "result"]) };
    case 6: {
      const { args, result, calls } = lines[other]!.line;
      return { lines: change((line) => Object.assign(line, { args, result, calls })) };
    }
    case 7:
      return { lines: change((line) => (line.args = `${line.args ?? ""} `)) };
    case 8:
      return { lines: change(({ entry }) => (entry.keyId = ["a", "b", "c", undefined][how % 4])) };
    case 9:
      return {
        lines: change((line) => {
          if (line.result !== undefined) line.result.bytes[0]! ^= 1 << (how % 8);
          else line.result = { type: "json", bytes: Buffer.from("1") };
        }),
      };
    case 10:
      return {
        lines: change(({ entry }) => ([entry.seq, entry.prev] = [other + 1, lines[other]!.line.entry.hash])),
      };
    case 11:
      return {
        lines: change((line) => {
          if (line.calls === undefined) line.calls = [];
          else if (how % 2 === 0) delete line.calls;
          else line.calls.pop();
        }),
      };
    case 12: {
      // The names of the last record stand in no line.
      const { line, names } = lines[other]!;
      const bad = {
        line,
        names: how % 2 === 0 ? { ...names, parentId: undefined } : { ...names, id: lines[at]!.names.id },
      };
      const isChanged = how % 2 === 0 ? names.parentId !== undefined : at !== other;
      return { lines: lines.with(other, bad), names: isChanged };
    }
    case 13:
      return { lines: lines.slice(at) };
    default:
      return {
        lines: change(({ entry }) => (entry.event = structuredClone(lines[other]!.line.entry.event))),
      };
  }
}

type Mutable<T> = { -readonly [K in keyof T]: T[K] };
type Changing = {
  entry: Omit<Mutable<Entry>, "keyId"> & { keyId?: string | undefined };
  args?: string;
  result?: { type: string; bytes: Uint8Array };
  calls?: unknown[];
};

/** Changes one field of an entry, or of its event. */
function edited(entry: Changing["entry"], how: number): void {
  const fields = entry.event as unknown as Record<string, unknown>;
  const target = how % 3 === 0 ? fields : (entry as unknown as Record<string, unknown>);
  const names = Object.keys(target).filter((name) => name !== "event");
  const name = names[how % names.length]!;
  const value = target[name];
  if (typeof value === "number") target[name] = value + 1 + (how % 2);
  else if (typeof value === "boolean") target[name] = !value;
  else if (typeof value === "string") target[name] = how % 5 === 0 ? "" : `${value.slice(1)}${how % 10}`;
  else if (how % 2 === 0) delete target[name];
  else target[name] = { step: -1 };
  if (how % 7 === 0) (target as { extra?: number }).extra = 1;
}

/** The entries from a place on, made anew by somebody who has no keys. */
function madeAnew(made: readonly NamedLine[], [, where, how]: Damage): NamedLine[] {
  const at = where % made.length;
  const plain = sealingOf(undefined);
  let prev = made[at]!.line.entry.prev;
  return made.map((named, n) => {
    if (n < at) return named;
    const { entry, ...beside } = clone(named).line as Changing;
    const { hash: _hash, keyId: _keyId, event, ...header } = entry;
    if (n === at) (event as { extra?: number }).extra = how;
    const rest = { ...header, prev };
    const hash = plain.hashOf(rest, event);
    prev = hash;
    return { line: { ...beside, entry: { ...rest, event, hash } } as RecordedEntry, names: named.names };
  });
}

describe("a damaged trail", () => {
  it(`is never taken for whole (${trails * damagesPerTrail} cases)`, { timeout: 3_600_000 }, () => {
    fc.assert(
      fc.property(
        trailArbitrary,
        fc.array(damageArbitrary, { minLength: damagesPerTrail, maxLength: damagesPerTrail }),
        ({ steps, signing }, damages) => {
          const made = trailOfSteps(steps, signedBy(signing));
          const head = made.at(-1)!.line.entry;
          const lastSigned = signing === "none" || head.keyId !== undefined;
          expect(verified(made, signing, head).ok).toBe(lastSigned);
          for (const damage of damages) {
            const { lines, names } = damaged(made, damage);
            for (const known of [undefined, head]) {
              const found = verified(lines, signing, known);
              const ok = mayBeOk(made.map(lineIn), lines.map(lineIn), known !== undefined) && names !== true;
              if (found.ok && !ok)
                throw new Error(`taken for whole: ${JSON.stringify({ damage, lines, found })}`);
            }
            const anew = madeAnew(made, damage);
            if (verified(anew, signing, head).ok) throw new Error("made anew, against a known head");
            if (signing !== "none" && verified(anew, signing, undefined).ok)
              throw new Error("made anew without the keys");
          }
        },
      ),
      { numRuns: trails, endOnFailure: true },
    );
  });

  it(
    `in a file is never taken for whole (${files * damagesPerFile} cases)`,
    { timeout: 3_600_000 },
    async () => {
      await fc.assert(
        fc.asyncProperty(
          trailArbitrary,
          fc.array(damageArbitrary, { minLength: damagesPerFile, maxLength: damagesPerFile }),
          async ({ steps, signing }, damages) => {
            const made = trailOfSteps(steps, signedBy(signing));
            const file = Buffer.from(fileOf(made, sealingFor(signing)));
            const { seq, hash, keyId } = made.at(-1)!.line.entry;
            const activeKey = sealingFor(signing).activeKey;
            const options = {
              head: { seq, hash },
              ...(activeKey === undefined ? {} : { sign: { keys, activeKey, unsigned: "accept" as const } }),
            };
            const whole = { header: (await contentOf(file)).header, lines: made.map(lineIn) };
            expect(await verifyTrail([file], options)).toMatchObject({
              ok: signing === "none" || keyId !== undefined,
            });
            for (const damage of damages) {
              const bytes = damagedFile(file, damage);
              const found = await verifyTrail([bytes], options);
              if (found.ok && !(await isContent(bytes, whole)))
                throw new Error(`taken for whole: ${JSON.stringify(damage)} ${bytes.toString()}`);
            }
          },
        ),
        { numRuns: files, endOnFailure: true },
      );
    },
  );
});

interface Content {
  readonly header: string;
  readonly lines: readonly RecordedEntry[];
}

async function contentOf(file: Uint8Array): Promise<Content> {
  const trail = new RecordedTrail([file]);
  const header = canonical(await trail.header());
  const lines: RecordedEntry[] = [];
  for await (const line of trail) lines.push(line);
  return { header, lines: trail.torn === undefined ? lines : [] };
}

async function isContent(file: Uint8Array, whole: Content): Promise<boolean> {
  const { header, lines } = await contentOf(file);
  return header === whole.header && mayBeOk(whole.lines, lines, true);
}

function damagedFile(file: Buffer, [kind, where, how]: Damage): Buffer {
  const at = where % file.length;
  const lines = file.toString().split("\n");
  const line = where % (lines.length - 1);
  const other = how % (lines.length - 1);
  const joined = (changed: readonly string[]): Buffer => Buffer.from(changed.join("\n"));
  switch (kind % 8) {
    case 0:
    case 1:
    case 2: {
      const copy = Buffer.from(file);
      copy[at]! ^= 1 << (how % 8);
      return copy;
    }
    case 3:
      return file.subarray(0, at);
    case 4:
      return joined(lines.toSpliced(line, 1));
    case 5:
      return joined(lines.toSpliced(other, 0, lines[line]!));
    case 6:
      return joined(lines.with(line, lines[other]!).with(other, lines[line]!));
    default:
      return Buffer.concat([file.subarray(0, at), file.subarray(at + 1 + (how % 40))]);
  }
}
