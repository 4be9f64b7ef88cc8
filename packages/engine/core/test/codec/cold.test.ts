import { START, StateGraph, Annotation } from "@langchain/langgraph";
import { randomBytes } from "node:crypto";
import fc from "fast-check";
import { afterEach, beforeAll, beforeEach, describe, expect, it, vi } from "vitest";
import { type Codec, loadCodec } from "../../src/codec/codec.ts";
import { deflate, inflate, maxDeflated } from "../../src/codec/deflate.ts";
import { shippedDictionary } from "../../src/codec/dictionaries.ts";
import { messageLike } from "./messageLike.ts";
import { reasonOf } from "./reasonOf.ts";

const dictionary = shippedDictionary(1);
let codec: Codec;

beforeAll(async () => {
  codec = await loadCodec();
});

const contents = fc.oneof(
  fc.uint8Array({ minLength: 1, maxLength: 600 }),
  fc.json({ maxDepth: 4 }).map((text) => new TextEncoder().encode(text)),
  fc
    .record({ size: fc.integer({ min: 1, max: maxDeflated }), seed: fc.nat() })
    .map(({ size, seed }) => messageLike(size, seed)),
);

describe("deflated content", () => {
  it("is read, also once the WASM runs, and is never longer than asked for", () => {
    fc.assert(
      fc.property(contents, (content) => {
        const bytes = deflate(content, dictionary);
        // toEqual would take a hundred times as long.
        expect(Buffer.compare(inflate(bytes, dictionary, content.length), content)).toBe(0);
        const packed = Buffer.concat([Uint8Array.of(3, 1), bytes]);
        expect(Buffer.compare(codec.unpack(packed, content.length), content)).toBe(0);
        if (content.length > 1)
          expect(reasonOf(() => inflate(bytes, dictionary, content.length - 1))).toBe("too-large");
      }),
      { seed: 4, numRuns: 300 },
    );
  });

  it.each([300, 1000, 8000])("of %i bytes takes as many bytes as by the WASM, within a twentieth", (size) => {
    const all = Array.from({ length: 20 }, (_, seed) => messageLike(size, seed));
    const sum = (lengths: number[]): number => lengths.reduce((total, length) => total + length, 0);
    const deflated = sum(all.map((content) => deflate(content, dictionary).length));
    expect(deflated).toBeLessThan(1.05 * sum(all.map((content) => codec.pack(content).length - 2)));
  });

  it("that is damaged, cut off, followed by more or a bomb is refused", () => {
    const whole = deflate(messageLike(700, 2), dictionary);
    for (let length = 0; length < whole.length; length++)
      expect(reasonOf(() => inflate(whole.subarray(0, length), dictionary, 10_000))).toBe("corrupt");
    expect(reasonOf(() => inflate(Uint8Array.from([...whole, 0]), dictionary, 10_000))).toBe("corrupt");
    const bomb = deflate(new Uint8Array(maxDeflated + 1), dictionary);
    expect(reasonOf(() => inflate(bomb, dictionary, 1e9))).toBe("too-large");
    fc.assert(
      fc.property(fc.nat({ max: whole.length - 1 }), fc.nat({ max: 7 }), (at, bit) => {
        const damaged = whole.slice();
        damaged[at]! ^= 1 << bit;
        expect(["corrupt", "too-large", "nothing thrown"]).toContain(
          reasonOf(() => inflate(damaged, dictionary, 10_000)),
        );
      }),
      { seed: 9, numRuns: 1000 },
    );
  });
});

describe("a new process", () => {
  const wasm = (globalThis as unknown as { WebAssembly: { instantiate(): unknown } }).WebAssembly;
  const started = (): number => vi.mocked(wasm.instantiate).mock.calls.length;

  beforeEach(() => {
    vi.resetModules();
    vi.spyOn(wasm, "instantiate");
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
    const long = messageLike(maxDeflated + 1, 1);
    expect(packNow(new Uint8Array(3))).toEqual(new Uint8Array(4));
    expect(packNow(new Uint8Array(randomBytes(300)))?.[0]).toBe(0);
    expect([...packNow(short)!.subarray(0, 2)]).toEqual([3, 1]);
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

  it("starts the WASM beside its work after 64 kB, and uses it from then on", async () => {
    const { packNow } = await import("../../src/codec/codec.ts");
    const content = messageLike(1024, 3);
    for (let n = 0; n < 64; n++) expect(packNow(content)).not.toEqual(codec.pack(content));
    expect(packNow(content)).toBeDefined();
    await vi.waitFor(() => expect(packNow(content)).toEqual(codec.pack(content)), { timeout: 30_000 });
    expect(started()).toBe(1);
  });

  it("doesn't start it before", async () => {
    const { packNow } = await import("../../src/codec/codec.ts");
    const { startZstdCodec } = await import("../../src/codec/startZstdCodec.ts");
    for (let n = 0; n < 64; n++) packNow(messageLike(1024, 3));
    // What a start would have to load is loaded by then.
    await import("../../src/codec/zstdCodec.ts");
    expect(started()).toBe(0);
    await startZstdCodec();
    expect(started()).toBe(1);
  });
});
