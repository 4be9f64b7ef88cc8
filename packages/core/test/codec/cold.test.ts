import { START, StateGraph, Annotation } from "@langchain/langgraph";
import { randomBytes } from "node:crypto";
import fc from "fast-check";
import { afterEach, beforeAll, beforeEach, describe, expect, it, vi } from "vitest";
import { type Codec, loadCodec } from "../../src/codec/codec.ts";
import { coldCompress, coldDecompress, maxColdContent } from "../../src/codec/coldZstd.ts";
import { shippedDictionary } from "../../src/codec/dictionaries.ts";
import { messageLike } from "./messageLike.ts";

const dictionary = shippedDictionary(1);
let codec: Codec;

beforeAll(async () => {
  codec = await loadCodec();
});

/** Packed bytes of a frame with the dictionary. */
const tagged = (frame: Uint8Array): Uint8Array => Uint8Array.from([2, 1, ...frame]);

const contents = fc.oneof(
  fc.uint8Array({ minLength: 1, maxLength: 600 }),
  fc.json({ maxDepth: 4 }).map((text) => new TextEncoder().encode(text)),
  fc
    .record({ size: fc.integer({ min: 1, max: maxColdContent }), seed: fc.nat() })
    .map(({ size, seed }) => messageLike(size, seed)),
  // Long matches, and repetitions that overlap.
  fc
    .record({
      piece: fc.uint8Array({ minLength: 1, maxLength: 40 }),
      size: fc.integer({ min: 1, max: maxColdContent }),
    })
    .map(({ piece, size }) => Uint8Array.from({ length: size }, (_, at) => piece[at % piece.length]!)),
);

describe("frames made without the WASM", () => {
  it("are Zstandard: the WASM reads them, and so do they", () => {
    let frames = 0;
    fc.assert(
      fc.property(contents, (content) => {
        const frame = coldCompress(content, dictionary);
        if (frame === undefined) return;
        frames++;
        expect(Buffer.compare(codec.unpack(tagged(frame), content.length), content)).toBe(0);
        expect(Buffer.compare(coldDecompress(frame, dictionary, content.length)!, content)).toBe(0);
        expect(coldDecompress(frame, dictionary, content.length - 1)).toBeUndefined();
      }),
      { seed: 4, numRuns: 600 },
    );
    expect(frames).toBeGreaterThan(300);
  });

  it.each([
    [300, 1.15],
    [1000, 1.25],
    [maxColdContent, 1.5],
  ])("of %i bytes are at most %f times as long as the WASM's", (size, times) => {
    const all = Array.from({ length: 20 }, (_, seed) => messageLike(size, seed));
    const sum = (lengths: number[]): number => lengths.reduce((total, length) => total + length, 0);
    const cold = sum(all.map((content) => coldCompress(content, dictionary)!.length));
    expect(cold).toBeLessThan(times * sum(all.map((content) => codec.pack(content).length - 2)));
  });

  it("are left to the WASM where they are damaged or of another kind, whose word counts", () => {
    const whole = coldCompress(messageLike(700, 2), dictionary)!;
    const random = fc.oneof(
      fc.record({ at: fc.nat({ max: whole.length - 1 }), bit: fc.nat({ max: 7 }) }).map(({ at, bit }) => {
        const frame = whole.slice();
        frame[at]! ^= 1 << bit;
        return frame;
      }),
      fc.nat({ max: whole.length - 1 }).map((length) => whole.subarray(0, length)),
      fc.uint8Array({ maxLength: 60 }).map((rest) => Uint8Array.from([...whole.subarray(0, 12), ...rest])),
      contents.map((content) => codec.pack(content).subarray(2)),
    );
    let read = 0;
    let left = 0;
    fc.assert(
      fc.property(random, (frame) => {
        const content = coldDecompress(frame, dictionary, 100_000);
        if (content === undefined) return void left++;
        read++;
        expect(Buffer.compare(codec.unpack(tagged(frame), 100_000), content)).toBe(0);
      }),
      { seed: 9, numRuns: 3000 },
    );
    expect(Math.min(read, left)).toBeGreaterThan(100);
  });
});

// Node's types don't name it.
const { WebAssembly: webAssembly } = globalThis as unknown as { WebAssembly: { instantiate(): unknown } };

describe("a new process", () => {
  const started = (): number => vi.mocked(webAssembly.instantiate).mock.calls.length;

  beforeEach(() => {
    vi.resetModules();
    vi.spyOn(webAssembly, "instantiate");
  });
  afterEach(() => vi.restoreAllMocks());

  it("runs a graph, continues the thread and lists it before anything starts the WASM", async () => {
    const { MemorySaver, MemoryTier, TierSaver } = await import("../../src/index.ts");
    const tier = new MemoryTier();
    const run = async (checkpointer: InstanceType<typeof TierSaver>) => {
      const graph = new StateGraph(Annotation.Root({ text: Annotation<string>, steps: Annotation<string[]> }))
        .addNode("agent", ({ text }) => ({ steps: [text, "was read"] }))
        .addEdge(START, "agent")
        .compile({ checkpointer });
      const config = { configurable: { thread_id: "ada" } };
      await graph.invoke({ text: "Where is my parcel? ".repeat(10) }, config);
      let checkpoints = 0;
      for await (const _ of graph.getStateHistory(config)) checkpoints++;
      return checkpoints;
    };
    expect(await run(new TierSaver(tier))).toBe(3);
    expect(await run(new TierSaver(tier))).toBe(6);
    expect(await run(new MemorySaver())).toBe(3);
    expect(started()).toBe(0);
  });

  it("waits where content is long, or was stored by one whose WASM ran", async () => {
    const { packNow, unpackNow, pack, unpack } = await import("../../src/codec/codec.ts");
    const short = messageLike(400, 1);
    const long = messageLike(maxColdContent + 1, 1);
    expect(packNow(new Uint8Array(3))).toEqual(new Uint8Array(4));
    expect(packNow(new Uint8Array(randomBytes(300)))?.[0]).toBe(0);
    expect([...packNow(short)!.subarray(0, 2)]).toEqual([2, 1]);
    expect(Buffer.compare(unpackNow(packNow(short)!, 400)!, short)).toBe(0);
    for (const options of [{ dictionary: false }, { level: 9 }])
      expect(packNow(short, options)).toBeUndefined();
    expect(unpackNow(codec.pack(short), 400)).toBeUndefined();
    expect(packNow(long)).toBeUndefined();
    expect(started()).toBe(0);
    expect(await unpack(codec.pack(short), 400)).toEqual(short);
    expect(await pack(long)).toEqual(codec.pack(long));
    expect(packNow(short)).toEqual(codec.pack(short));
    expect(started()).toBe(1);
  });

  it("starts the WASM beside its work after 16 kB, and uses it from then on", async () => {
    const { packNow } = await import("../../src/codec/codec.ts");
    const content = messageLike(1024, 3);
    for (let n = 0; n < 16; n++) expect(packNow(content)).not.toEqual(codec.pack(content));
    expect(packNow(content)).toBeDefined();
    await vi.waitFor(() => expect(packNow(content)).toEqual(codec.pack(content)), { timeout: 30_000 });
    expect(started()).toBe(1);
  });

  it("doesn't start it before", async () => {
    const { packNow } = await import("../../src/codec/codec.ts");
    const { startZstdCodec } = await import("../../src/codec/startZstdCodec.ts");
    for (let n = 0; n < 16; n++) packNow(messageLike(1024, 3));
    // What a start would have to load is loaded by then.
    await import("../../src/codec/zstdCodec.ts");
    expect(started()).toBe(0);
    await startZstdCodec();
    expect(started()).toBe(1);
  });
});
