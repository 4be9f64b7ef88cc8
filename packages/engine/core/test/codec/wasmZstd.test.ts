import { randomBytes } from "node:crypto";
import fc from "fast-check";
import { beforeAll, describe, expect, it } from "vitest";
import type { Handle, ZstdBinding } from "zstd-codec/lib/module.js";
import { startZstdCodec } from "../../src/codec/startZstdCodec.ts";
import { WasmZstd } from "../../src/codec/wasmZstd.ts";
import { MAX_DICTIONARY, MAX_FRAME_CONTENT } from "../../src/codec/zstd.ts";
import { readZstdFrames } from "../../src/codec/zstdFrames.ts";
import { frameWith, hostileFrames } from "./hostileFrames.ts";
import { messageLike } from "./messageLike.ts";
import { reasonOf } from "./reasonOf.ts";

const zstd = new WasmZstd();
const text = messageLike(5000, 3);

beforeAll(() => zstd.ready());

/** toEqual on megabytes is slow. */
function expectSame(found: Uint8Array, wanted: Uint8Array): void {
  expect(found.length).toBe(wanted.length);
  expect(Buffer.compare(found, wanted)).toBe(0);
}

function expectWorks(): void {
  expectSame(zstd.decompress(zstd.compress(text, 3), { maxSize: text.length }), text);
}

describe("WasmZstd", () => {
  it.each([
    0,
    1,
    8,
    255,
    256,
    65_791,
    65_792,
    MAX_FRAME_CONTENT - 1,
    MAX_FRAME_CONTENT,
    MAX_FRAME_CONTENT + 1,
    3_500_000,
  ])("round-trips %i bytes, compressible and not, with and without a dictionary", (size) => {
    for (const content of [messageLike(size, 5), new Uint8Array(randomBytes(size)), new Uint8Array(size)]) {
      for (const dictionary of [undefined, text]) {
        const packed = zstd.compress(content, 3, dictionary);
        const options = { maxSize: size, ...(dictionary && { dictionary }) };
        expectSame(zstd.decompress(packed, options), content);
        const frames = readZstdFrames(packed, size);
        expect(frames.length).toBe(Math.max(1, Math.ceil(size / MAX_FRAME_CONTENT)));
        for (const { start } of frames) expect(packed[start + 4]! & 0x04).toBe(0); // no checksum
        if (size > 0)
          expect(reasonOf(() => zstd.decompress(packed, { ...options, maxSize: size - 1 }))).toBe(
            "too-large",
          );
      }
    }
  });

  it("holds 50 MB of noise and of text, at the highest level and with the largest dictionary", () => {
    const size = 50_000_000;
    const noise = new Uint8Array(randomBytes(size));
    expectSame(zstd.decompress(zstd.compress(noise, 3), { maxSize: size }), noise);
    const dictionary = noise.subarray(0, MAX_DICTIONARY);
    const mixed = noise.slice(0, 4_000_000);
    mixed.set(messageLike(2_000_000, 1));
    expectSame(zstd.decompress(zstd.compress(mixed, 9, dictionary), { maxSize: size, dictionary }), mixed);
    const long = new Uint8Array(size);
    const piece = messageLike(1_700_000, 9);
    for (let at = 0; at + piece.length <= size; at += piece.length) long.set(piece, at);
    expectSame(zstd.decompress(zstd.compress(long, 3), { maxSize: size }), long);
  });

  it("frees dictionaries: hundreds of the largest do not exhaust the heap", () => {
    for (let i = 0; i < 300; i++) {
      const dictionary = messageLike(MAX_DICTIONARY, i);
      const packed = zstd.compress(text, 1 + (i % 9), dictionary);
      expectSame(zstd.decompress(packed, { maxSize: text.length, dictionary }), text);
    }
  });

  it("uses dictionaries as raw content, whatever they start with", () => {
    const trained = Uint8Array.from([0x37, 0xa4, 0x30, 0xec, ...text]);
    for (const dictionary of [
      trained,
      text,
      new Uint8Array(0),
      Uint8Array.of(1, 2, 3),
      text.subarray(0, 8),
    ]) {
      const packed = zstd.compress(text, 3, dictionary);
      expectSame(zstd.decompress(packed, { maxSize: text.length, dictionary }), text);
    }
    expect(zstd.compress(text, 3, trained).length).toBeLessThan(zstd.compress(text, 3).length / 4);
    expect(reasonOf(() => zstd.compress(text, 3, new Uint8Array(MAX_DICTIONARY + 1)))).toBe("bad-argument");
    expect(
      reasonOf(() => zstd.decompress(text, { maxSize: 1, dictionary: new Uint8Array(MAX_DICTIONARY + 1) })),
    ).toBe("bad-argument");
  });

  it("never returns the content to who lacks the dictionary", () => {
    const packed = zstd.compress(text, 3, text);
    for (const dictionary of [undefined, messageLike(5000, 4)]) {
      const options = { maxSize: text.length, ...(dictionary && { dictionary }) };
      let found: Uint8Array | undefined;
      expect(reasonOf(() => (found = zstd.decompress(packed, options)))).toMatch(
        /^(corrupt|nothing thrown)$/,
      );
      expect(found === undefined || Buffer.compare(found, text) !== 0).toBe(true);
    }
  });

  it.each([0, 10, 22, -1, 2.5, Number.NaN])("refuses level %d", (level) => {
    expect(reasonOf(() => zstd.compress(text, level))).toBe("bad-argument");
  });
});

describe("hostile frames", () => {
  it.each(hostileFrames)("refuses %s", (_, bytes, reason) => {
    expect(reasonOf(() => zstd.decompress(bytes, { maxSize: 2 ** 40 }))).toBe(reason);
    expectWorks();
  });

  it("takes a limit that is no number for none allowed", () => {
    expect(reasonOf(() => zstd.decompress(zstd.compress(text, 3), { maxSize: Number.NaN }))).toBe(
      "too-large",
    );
  });

  it("refuses every truncation", () => {
    const packed = zstd.compress(text, 3);
    for (let length = 0; length < packed.length; length++) {
      expect(reasonOf(() => zstd.decompress(packed.subarray(0, length), { maxSize: 1e6 }))).toBe("corrupt");
    }
  });

  it("survives random bytes behind a valid header", () => {
    fc.assert(
      fc.property(
        fc.uint8Array({ maxLength: 200 }),
        fc.nat({ max: 400 }),
        fc.boolean(),
        (body, size, withDictionary) => {
          const bytes = frameWith(body, size);
          const options = { maxSize: 1e6, ...(withDictionary && { dictionary: text }) };
          expect(reasonOf(() => zstd.decompress(bytes, options))).toMatch(/^(corrupt|nothing thrown)$/);
          expect(reasonOf(() => zstd.decompress(body, options))).toMatch(/^(corrupt|too-large|unsupported)$/);
        },
      ),
      { seed: 11, numRuns: 3000 },
    );
    expectWorks();
  });

  it("survives mutations of valid frames, and yields what they declare or an error", () => {
    const contents = [
      text,
      messageLike(300_000, 2),
      new Uint8Array(randomBytes(3000)),
      messageLike(1_200_000, 8),
    ];
    const packed = contents.map((content) => zstd.compress(content, 3, text));
    const edits = fc.array(
      fc.record({ at: fc.integer({ min: 0, max: 99_999 }), byte: fc.nat({ max: 255 }) }),
      {
        minLength: 1,
        maxLength: 6,
      },
    );
    let decoded = 0;
    fc.assert(
      fc.property(
        fc.constantFrom(0, 0, 0, 0, 0, 0, 1, 2, 2, 2, 3),
        edits,
        fc.boolean(),
        (which, changes, early) => {
          const bytes = Uint8Array.from(packed[which]!);
          // Headers and tables are at the front: half of the cases hit only that.
          const span = early ? Math.min(80, bytes.length) : bytes.length;
          for (const { at, byte } of changes) bytes[Math.floor((at / 100_000) * span)] = byte;
          const result = reasonOf(() => {
            const { length } = zstd.decompress(bytes, { maxSize: 2e6, dictionary: text });
            decoded++;
            expect(length).toBe(
              readZstdFrames(bytes, 2e6).reduce((sum, frame) => sum + frame.contentSize, 0),
            );
          });
          expect(result).toMatch(/^(corrupt|too-large|unsupported|nothing thrown)$/);
        },
      ),
      { seed: 12, numRuns: 4000 },
    );
    expect(decoded).toBeGreaterThan(100); // mutations do reach the decoder
    expectWorks();
  });
});

describe("a failed heap", () => {
  it("is an error once, and replaced by a new one", async () => {
    const modules: ZstdBinding[] = [];
    const own = new WasmZstd(async () => {
      const started = await startZstdCodec();
      modules.push(started.binding);
      return started;
    });
    expect(reasonOf(() => own.compress(text, 3))).toBe("unavailable"); // not started yet; this starts it
    await own.ready();
    expectSame(own.decompress(own.compress(text, 3), { maxSize: text.length }), text);
    const open: Handle[] = [];
    const fill = (): void => {
      for (let i = 0; i < 1000; i++) open.push(modules[0]!.createCompressionDict(text, 9));
    };
    expect(fill).toThrow(); // abort(OOM)
    expect(reasonOf(() => own.compress(messageLike(MAX_FRAME_CONTENT, 1), 9))).toBe("unavailable");
    expect(reasonOf(() => own.compress(text, 3))).toBe("unavailable");
    await own.ready();
    expectSame(own.decompress(own.compress(text, 3), { maxSize: text.length }), text);
    expect(modules.length).toBe(2);
  });

  it("reports a failing start, and starts again when asked", async () => {
    let starts = 0;
    const own = new WasmZstd(() =>
      starts++ === 0 ? Promise.reject(new Error("no memory")) : startZstdCodec(),
    );
    await expect(own.ready()).rejects.toThrow("no memory");
    await own.ready();
    expectSame(own.decompress(own.compress(text, 3), { maxSize: text.length }), text);
  });
});
