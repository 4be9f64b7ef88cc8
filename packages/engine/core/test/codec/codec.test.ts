import { createHash, randomBytes } from "node:crypto";
import fc from "fast-check";
import { beforeAll, describe, expect, it } from "vitest";
import { type Codec, contentHash, loadCodec, pack, unpack } from "../../src/codec/index.ts";
import { shippedDictionary } from "../../src/codec/dictionaries.ts";
import { messageLike } from "./messageLike.ts";
import { reasonOf } from "./reasonOf.ts";

let codec: Codec;
const utf8 = (text: string): Uint8Array => new TextEncoder().encode(text);

beforeAll(async () => {
  codec = await loadCodec();
});

describe("codec", () => {
  it("unpacks what it packed", async () => {
    const pieces = fc.oneof(
      fc.uint8Array({ maxLength: 400 }),
      fc.string({ maxLength: 400, unit: "grapheme" }).map(utf8),
      fc.json({ maxDepth: 4 }).map(utf8),
      fc
        .record({ size: fc.nat({ max: 80_000 }), seed: fc.nat() })
        .map(({ size, seed }) => messageLike(size, seed)),
    );
    fc.assert(
      fc.property(pieces, fc.option(fc.boolean(), { nil: undefined }), (raw, dictionary) => {
        const packed = codec.pack(raw, dictionary === undefined ? {} : { dictionary });
        expect(packed.length).toBeLessThanOrEqual(raw.length + 1);
        expect(Buffer.compare(codec.unpack(packed, raw.length), raw)).toBe(0);
        if (raw.length > 0) expect(reasonOf(() => codec.unpack(packed, raw.length - 1))).toBe("too-large");
        if (packed[0] !== 0) expect(packed.length).toBeLessThanOrEqual(raw.length * 0.9);
      }),
      { seed: 21, numRuns: 500 },
    );
    expect(await unpack(await pack(utf8("abc")), 3)).toEqual(utf8("abc"));
  });

  it("leaves alone what does not gain", () => {
    for (const raw of [new Uint8Array(0), utf8("null"), utf8("true"), new Uint8Array(randomBytes(5000))]) {
      const packed = codec.pack(raw);
      expect(packed).toEqual(Uint8Array.from([0, ...raw]));
      expect(packed.buffer).not.toBe(raw.buffer);
    }
  });

  it("names the codec and the dictionary", () => {
    expect([...codec.pack(messageLike(400, 1)).subarray(0, 2)]).toEqual([2, 1]);
    expect(codec.pack(messageLike(400, 1), { dictionary: false })[0]).toBe(1);
    expect(codec.pack(messageLike(100_000, 1))[0]).toBe(1);
  });

  it("makes small messages small", () => {
    const human =
      '{"lc":1,"type":"constructor","id":["langchain_core","messages","HumanMessage"],"kwargs":{"content":"Where is my parcel?",' +
      '"additional_kwargs":{},"response_metadata":{}}}';
    const metadata = '{"source":"loop","step":4,"parents":{}}';
    const writes = '[[0,"messages",0],[1,"branch:to:tools",[4,"json"]]]null';
    expect(codec.pack(utf8(human)).length).toBeLessThanOrEqual(46);
    expect(codec.pack(utf8(metadata)).length).toBeLessThanOrEqual(28);
    expect(codec.pack(utf8(writes)).length).toBeLessThanOrEqual(22);
    expect(codec.pack(messageLike(300, 7)).length).toBeLessThan(150);
  });

  it("refuses what it does not know", () => {
    expect(reasonOf(() => codec.unpack(new Uint8Array(0), 10))).toBe("corrupt");
    expect(reasonOf(() => codec.unpack(Uint8Array.of(2), 10))).toBe("corrupt");
    expect(reasonOf(() => codec.unpack(Uint8Array.of(1), 10))).toBe("corrupt");
    expect(reasonOf(() => codec.unpack(Uint8Array.of(4, 1, 2), 10))).toBe("unknown-tag");
    expect(reasonOf(() => codec.unpack(Uint8Array.of(3), 10))).toBe("corrupt");
    expect(reasonOf(() => codec.unpack(Uint8Array.of(3, 250, 2), 10))).toBe("unknown-dictionary");
    expect(reasonOf(() => codec.unpack(Uint8Array.of(0x41, 1, 2), 10))).toBe("unknown-tag");
    expect(reasonOf(() => codec.unpack(Uint8Array.of(2, 250, 2), 10))).toBe("unknown-dictionary");
    expect(reasonOf(() => codec.pack(messageLike(400, 1), { level: 12 }))).toBe("bad-argument");
  });

  it("answers any bytes with content or a CodecError", () => {
    fc.assert(
      fc.property(
        fc.constantFrom([], [0], [1], [2], [2, 1], [1, 0x28, 0xb5, 0x2f, 0xfd]),
        fc.uint8Array(),
        (head, rest) => {
          const result = reasonOf(() => codec.unpack(Uint8Array.from([...head, ...rest]), 1e6));
          expect(result).toMatch(/^[a-z -]+$/);
          expect(result).not.toBe("unavailable");
        },
      ),
      { seed: 22, numRuns: 2000 },
    );
  });

  it("does not fill memory: 20,000 small calls leave the heap as it was", () => {
    const raw = messageLike(500, 1);
    for (let i = 0; i < 20_000; i++) codec.unpack(codec.pack(raw), raw.length);
    const large = messageLike(3_000_000, 1);
    expect(contentHash(codec.unpack(codec.pack(large), large.length))).toBe(contentHash(large));
  });
});

describe("golden bytes that every later version must read", () => {
  it("dictionary 1 never changes", () => {
    const hash = createHash("sha256").update(shippedDictionary(1)).digest("hex");
    expect(hash).toMatchInlineSnapshot(`"ae60ec0ff409fd73018339e61a4ff71f0d7c9a135e5dbef780e1a8be567aca0c"`);
  });

  it.each([
    ["stored", "AG51bGw=", "null"],
    [
      "zstd",
      "ASi1L/0gSD0BAAQCVG8gYmUgcmVhZCBmb3IgZXZlci4gLCBhbmQgZXZlci4BAGM5mQ==",
      "To be read for ever. To be read for ever. To be read for ever, and ever.",
    ],
    ["zstd with dictionary 1", "AgEotS/9ICdVAAAINwIASsmyQAUE", '{"source":"loop","step":7,"parents":{}}'],
  ])("%s", (_, base64, content) => {
    expect(Buffer.from(codec.unpack(Uint8Array.from(Buffer.from(base64, "base64")), 1000)).toString()).toBe(
      content,
    );
  });
});
