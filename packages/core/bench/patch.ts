/**
 * Figures of the patch module: `npx tsx packages/core/bench/patch.ts`. Literals are compressed with zstd-codec,
 * level 3, without a dictionary unless the line names one. Floor: zstd -19 of the final state (`zstd -19 --long=27`).
 */
import { spawnSync } from "node:child_process";
import { apply, decodePatch, diff, encodePatch, materialize, type Patch } from "../src/patch/index.ts";
import { growingStates, makeTurns, random } from "./growingState.ts";
import { compress, decompress, openDictionary, sizeOf } from "./zstd.ts";

const print = (...parts: (string | number)[]) => process.stdout.write(`${parts.join(" ")}\n`);
const kb = (bytes: number) => `${(bytes / 1000).toFixed(bytes < 100_000 ? 2 : 0)} kB`;

/** The fastest of some runs, in milliseconds: the figure that other load on the machine changes least. */
function time(run: () => unknown, runs = 15): number {
  const times = Array.from({ length: runs }, () => {
    const started = performance.now();
    run();
    return performance.now() - started;
  });
  return Math.min(...times);
}

interface Stored {
  readonly patch: Patch;
  readonly ops: Uint8Array;
  readonly frames: Uint8Array[];
  readonly bytes: number;
}

function store(base: Uint8Array, next: Uint8Array, dictionary?: Uint8Array): Stored {
  const patch = diff(base, next);
  const { ops, literals } = encodePatch(patch);
  const frames = compress(literals, dictionary);
  return { patch, ops, frames, bytes: ops.length + sizeOf(frames) };
}

function load({ ops, frames }: Stored): Patch {
  return decodePatch(ops, decompress(frames), 1 << 27);
}

/** The floor: zstd -19 of the whole stream, per turn; needs the zstd command. */
function floorOf(final: Uint8Array, turns: number): number | undefined {
  const { status, stdout } = spawnSync("zstd", ["-19", "--long=27", "-c"], {
    input: final,
    maxBuffer: 1 << 26,
  });
  return status === 0 ? stdout.length / turns : undefined;
}

function growing(): void {
  const states = growingStates(makeTurns(500));
  const final = states.at(-1)!;
  const floor = floorOf(final, states.length);
  print(
    `500 turns, ${kb(final.length)} final; floor ${floor?.toFixed(0) ?? "unknown (no zstd command)"} B/turn`,
  );

  const started = performance.now();
  const stored = states.slice(1).map((state, i) => store(states[i]!, state));
  const encodeMs = (performance.now() - started) / stored.length;
  const diffMs =
    time(() => states.slice(1).forEach((state, i) => diff(states[i]!, state)), 3) / stored.length;
  const mean = (of: (one: Stored) => number) => stored.reduce((sum, one) => sum + of(one), 0) / stored.length;
  print(
    `  patches ${mean((one) => one.bytes).toFixed(0)} B/turn, ${mean((one) => one.ops.length).toFixed(0)} of them for`,
    `${mean((one) => one.patch.ops.length / 2).toFixed(0)} operations; diff ${diffMs.toFixed(3)} ms,`,
    `with encoding and zstd ${encodeMs.toFixed(3)} ms`,
  );
  for (const depth of [32, 64, 128, 170, 256]) storage(states, stored, depth, floor);
  for (const depth of [1, 8, 32, 64, 128, 170, 256]) decoding(states, stored, depth);
  dictionaries(states);
}

/** Bytes per turn if every chain is cut after `depth` patches, storing the next value in one of two ways. */
function storage(
  states: readonly Uint8Array[],
  stored: readonly Stored[],
  depth: number,
  floor?: number,
): void {
  let whole = sizeOf(compress(states[0]!));
  let onCut = whole;
  let lastCut = 0;
  for (let i = 1; i < states.length; i++) {
    const patched = stored[i - 1]!.bytes;
    if (i - lastCut <= depth) {
      whole += patched;
      onCut += patched;
      continue;
    }
    whole += sizeOf(compress(states[i]!));
    onCut += store(states[lastCut]!, states[i]!).bytes;
    lastCut = i;
  }
  const shown = (bytes: number) => {
    const perTurn = bytes / states.length;
    return `${perTurn.toFixed(0)} B/turn${floor === undefined ? "" : ` (${(perTurn / floor).toFixed(2)} × floor)`}`;
  };
  print(`  cut after ${depth}, then whole: ${shown(whole)}; then a patch on the last cut: ${shown(onCut)}`);
}

function decoding(states: readonly Uint8Array[], stored: readonly Stored[], depth: number): void {
  const at = states.length - 1 - depth;
  const base = states[at]!;
  const whole = compress(base);
  const chain = stored.slice(at);
  const patches = chain.map(load);
  if (Buffer.compare(materialize(base, patches), states.at(-1)!) !== 0) throw new Error("wrong bytes");
  print(
    `  depth ${depth}: zstd of the base ${time(() => decompress(whole)).toFixed(2)} ms, of the literals`,
    `${time(() => chain.map((one) => decompress(one.frames))).toFixed(2)}, decodePatch`,
    `${time(() => chain.map((one, i) => decodePatch(one.ops, patches[i]!.literals))).toFixed(2)}, materialize`,
    `${time(() => materialize(base, patches)).toFixed(2)} (one by one ${time(() => patches.reduce(apply, base), 5).toFixed(2)}) ms`,
  );
}

/** What a dictionary would save, and what it costs a reader of 128 patches. */
function dictionaries(states: readonly Uint8Array[]): void {
  const first = states.length - 129;
  const chain = states.slice(first);
  const tail = (state: Uint8Array, end: number, size: number) => state.subarray(Math.max(0, end - size), end);
  const kept = (i: number) => diff(chain[i]!, chain[i + 1]!).ops[1] ?? 0;
  const perPatch = chain.slice(1).map((_, i) => tail(chain[i]!, kept(i), 1 << 16));
  const shared = tail(chain[0]!, chain[0]!.length, 1 << 16);
  const none = chain.slice(1).map((next, i) => store(chain[i]!, next));
  const withParent = chain.slice(1).map((next, i) => store(chain[i]!, next, perPatch[i]!));
  const withShared = chain.slice(1).map((next, i) => store(chain[i]!, next, shared));
  const size = (all: Stored[]) =>
    `${(all.reduce((sum, one) => sum + one.bytes, 0) / all.length).toFixed(0)} B/turn`;
  print(
    `  literals of the last 128 patches, no dictionary: ${size(none)},`,
    `${time(() => none.map((one) => decompress(one.frames))).toFixed(2)} ms to decompress`,
  );
  const parentMs = time(() =>
    withParent.map((one, i) => {
      const dictionary = openDictionary(perPatch[i]!);
      const literals = decompress(one.frames, dictionary);
      dictionary.close();
      return literals;
    }),
  );
  print(
    `  64 kB of the parent before the cut: ${size(withParent)}, ${parentMs.toFixed(2)} ms, and the parents' bytes`,
  );
  const sharedMs = time(() => {
    const dictionary = openDictionary(shared);
    const all = withShared.map((one) => decompress(one.frames, dictionary));
    dictionary.close();
    return all;
  });
  print(`  64 kB end of the chain's whole blob: ${size(withShared)}, ${sharedMs.toFixed(2)} ms`);
}

function scenarios(): void {
  const turns = makeTurns(300);
  const more = makeTurns(40, 2);
  const state = (list: readonly object[][]) => growingStates(list).at(-1)!;
  const rewrite = (list: readonly object[][], at: number) => list.with(at, makeTurns(1, at + 9)[0]!);
  const touch = (list: readonly object[][], at: number) =>
    list.with(at, list[at]!.with(0, { ...list[at]![0], seen: at }));
  const next = random(5);
  const vectors = Array.from({ length: 300 }, () => Array.from({ length: 384 }, () => next() * 2 - 1));
  const json = (value: unknown) => new TextEncoder().encode(JSON.stringify(value));
  const large = (bytes: number) => Buffer.alloc(bytes, state(makeTurns(400, 3)));
  const random50 = (seed: number) => {
    const draw = random(seed);
    return Uint8Array.from({ length: 50e6 }, () => draw() * 256);
  };
  const unique = growingStates(makeTurns(1000, 7)).at(-1)!;
  const cases: [name: string, base: () => Uint8Array, next: () => Uint8Array][] = [
    ["append a turn", () => state(turns), () => state([...turns, more[0]!])],
    ["edit in the middle", () => state(turns), () => state(rewrite(turns, 150))],
    ["the same, and append", () => state(turns), () => state([...rewrite(turns, 150), more[0]!])],
    ["trim the oldest, append", () => state(turns), () => state([...turns.slice(1), more[0]!])],
    ["summarise half", () => state(turns), () => state([...more.slice(0, 1), ...turns.slice(150)])],
    [
      "six scattered edits",
      () => state(turns),
      () => state([30, 80, 130, 180, 230, 280].reduce(rewrite, turns)),
    ],
    [
      "six scattered flags",
      () => state(turns),
      () => state([30, 80, 130, 180, 230, 280].reduce(touch, turns)),
    ],
    ["everything new", () => state(turns), () => state(makeTurns(300, 4))],
    [
      "embeddings: one of 300 more",
      () => json(vectors.slice(1)),
      () => json([...vectors.slice(1), vectors[0]]),
    ],
    [
      "embeddings: one replaced",
      () => json(vectors),
      () => json(vectors.with(150, vectors[0]!.toReversed())),
    ],
    ["5 MB, append", () => unique, () => Buffer.concat([unique.subarray(0, -1), state(more.slice(0, 1))])],
    [
      "5 MB, scattered",
      () => unique,
      () => Buffer.concat([state(more.slice(0, 1)), unique.subarray(5000, 3e6), unique.subarray(3000050)]),
    ],
    ["50 MB, append", () => large(50e6), () => Buffer.concat([large(50e6), state(more.slice(0, 1))])],
    [
      "50 MB, trim and append",
      () => large(50e6),
      () => Buffer.concat([large(50e6).subarray(9000), state(more.slice(0, 1))]),
    ],
    ["50 MB, nothing in common", () => random50(1), () => random50(2)],
    ["50 MB of zeros, then 50 MB of ones", () => new Uint8Array(50e6), () => new Uint8Array(50e6).fill(1)],
  ];
  for (const [name, makeBase, makeNext] of cases) {
    const base = makeBase();
    const after = makeNext();
    const patch = diff(base, after);
    if (Buffer.compare(apply(base, patch), after) !== 0) throw new Error(`wrong bytes: ${name}`);
    const { ops, literals } = encodePatch(patch);
    const bytes = ops.length + sizeOf(compress(literals));
    print(
      `  ${name.padEnd(36)} ${kb(after.length).padStart(9)} → ${kb(bytes).padStart(9)},`,
      `${patch.ops.length / 2} operations, literals ${kb(literals.length)}, diff`,
      `${time(() => diff(base, after), after.length > 1e7 ? 3 : 9).toFixed(2)} ms,`,
      `apply ${time(() => apply(base, patch), 3).toFixed(2)} ms`,
    );
  }
}

growing();
print("one patch:");
scenarios();
