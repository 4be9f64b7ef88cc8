import { setImmediate as turn } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { randomBytes } from "node:crypto";
import * as fc from "fast-check";
import { Cipher, CodecError, type EncryptionOptions } from "../../src/codec/index.ts";
import { InvalidOptionError } from "../../src/contract/errors.ts";

const utf8 = (text: string): Uint8Array => new TextEncoder().encode(text);
const address = utf8("thread/ns/checkpoint/messages");
const options = (more: Partial<EncryptionOptions> = {}): EncryptionOptions => ({
  keys: { k1: randomBytes(32) },
  activeKey: "k1",
  hashKey: randomBytes(32),
  ...more,
});

async function reasonOf(promise: Promise<unknown>): Promise<string> {
  const error: unknown = await promise.then(
    () => "nothing thrown",
    (caught: unknown) => caught,
  );
  return CodecError.is(error) ? error.reason : String(error);
}

describe("Cipher", () => {
  it("opens what it sealed, with any content, address and key id", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.uint8Array({ maxLength: 300 }),
        fc.uint8Array({ maxLength: 60 }),
        fc.string({ minLength: 1, maxLength: 40, unit: "grapheme" }),
        async (bytes, aad, id) => {
          const cipher = new Cipher(
            options({ keys: Object.fromEntries([[id, randomBytes(32)]]), activeKey: id }),
          );
          const sealed = await cipher.seal(bytes, aad);
          expect(sealed.length).toBe(2 + utf8(id).length + 12 + bytes.length + 16);
          expect(await cipher.open(sealed, aad)).toEqual(bytes);
        },
      ),
      { seed: 1, numRuns: 200 },
    );
  });

  it("never seals the same content to the same bytes", async () => {
    const cipher = new Cipher(options());
    const content = utf8("hello");
    const seen = new Set<string>();
    for (let i = 0; i < 100; i++) seen.add(Buffer.from(await cipher.seal(content, address)).toString("hex"));
    expect(seen.size).toBe(100);
  });

  it("refuses every flipped bit, every truncation, and another address", async () => {
    const cipher = new Cipher(options());
    const sealed = await cipher.seal(utf8("some content"), address);
    for (let bit = 0; bit < sealed.length * 8; bit++) {
      const flipped = Uint8Array.from(sealed);
      flipped[bit >> 3]! ^= 1 << (bit & 7);
      // A tag outside 0x40 to 0x4f is not sealed at all: that is what refusePlaintext is for.
      if (flipped[0]! >> 4 !== 4) continue;
      expect(await reasonOf(cipher.open(flipped, address))).toMatch(
        /^(tampered|corrupt|unknown-key|unknown-tag)$/,
      );
    }
    for (let length = 1; length < sealed.length; length++) {
      expect(await reasonOf(cipher.open(sealed.subarray(0, length), address))).toMatch(
        /^(tampered|corrupt|unknown-key)$/,
      );
    }
    expect(await reasonOf(cipher.open(sealed, utf8("thread/ns/checkpoint/other")))).toBe("tampered");
    expect(await cipher.open(sealed, address)).toEqual(utf8("some content"));
  });

  it("refuses another key under the same id", async () => {
    const sealed = await new Cipher(options()).seal(utf8("x"), address);
    expect(await reasonOf(new Cipher(options()).open(sealed, address))).toBe("tampered");
  });

  it("reads old keys after a rotation, and names the key that is gone", async () => {
    const old = randomBytes(32);
    const young = randomBytes(32);
    const sealed = await new Cipher(options({ keys: { "2025": old }, activeKey: "2025" })).seal(
      utf8("x"),
      address,
    );
    const rotated = new Cipher(options({ keys: { "2025": old, "2026": young }, activeKey: "2026" }));
    expect(await rotated.open(sealed, address)).toEqual(utf8("x"));
    const again = await rotated.seal(utf8("y"), address);
    const onlyNew = new Cipher(options({ keys: { "2026": young }, activeKey: "2026" }));
    expect(await onlyNew.open(again, address)).toEqual(utf8("y"));
    await expect(onlyNew.open(sealed, address)).rejects.toThrow('Key "2025" is not in encryption.keys');
    expect(await reasonOf(onlyNew.open(sealed, address))).toBe("unknown-key");
  });

  it("does not take a key id for a property of Object", async () => {
    const sealed = await new Cipher(
      options({ keys: { toString: randomBytes(32) }, activeKey: "toString" }),
    ).seal(utf8("x"), address);
    expect(await reasonOf(new Cipher(options()).open(sealed, address))).toBe("unknown-key");
    expect(() => new Cipher(options({ activeKey: "toString" }))).toThrow(InvalidOptionError);
  });

  it("passes unsealed bytes on, or refuses them", async () => {
    const packed = Uint8Array.of(1, 2, 3);
    expect(await new Cipher(options()).open(packed, address)).toEqual(packed);
    const strict = new Cipher(options({ refusePlaintext: true }));
    expect(await reasonOf(strict.open(packed, address))).toBe("plaintext-refused");
    expect(await reasonOf(strict.open(new Uint8Array(0), address))).toBe("plaintext-refused");
    expect(await reasonOf(strict.open(Uint8Array.of(0x4f, 1), address))).toBe("unknown-tag");
  });

  it("calls a key function once, also when calls race, and keeps its result", async () => {
    let calls = 0;
    const key = randomBytes(32);
    const cipher = new Cipher(
      options({
        keys: {
          kms: async () => {
            calls++;
            await turn();
            return key;
          },
        },
        activeKey: "kms",
      }),
    );
    expect(calls).toBe(0);
    const sealed = await Promise.all([1, 2, 3].map((n) => cipher.seal(Uint8Array.of(n), address)));
    for (const [i, bytes] of sealed.entries())
      expect(await cipher.open(bytes, address)).toEqual(Uint8Array.of(i + 1));
    expect(calls).toBe(1);
  });

  it.each([
    ["rejects", (): Promise<Uint8Array> => Promise.reject(new Error("KMS is down"))],
    [
      "throws",
      (): Uint8Array => {
        throw new Error("KMS is down");
      },
    ],
    ["returns a short key", (): Uint8Array => new Uint8Array(16)],
  ])("does not keep the failure of a key function that %s", async (_, fail) => {
    let calls = 0;
    const key = randomBytes(32);
    const cipher = new Cipher(
      options({ keys: { kms: () => (calls++ === 0 ? fail() : key) }, activeKey: "kms" }),
    );
    expect(await reasonOf(cipher.seal(utf8("x"), address))).toBe("key-failed");
    expect(await cipher.open(await cipher.seal(utf8("x"), address), address)).toEqual(utf8("x"));
    expect(calls).toBe(2);
  });

  it.each<[string, unknown, string]>([
    ["no keys", { keys: {} }, "encryption.keys"],
    ["a short key", { keys: { k1: new Uint8Array(16) } }, 'encryption.keys["k1"]'],
    ["a text key", { keys: { k1: "a".repeat(32) } }, 'encryption.keys["k1"]'],
    ["an unknown active key", { activeKey: "k2" }, "encryption.activeKey"],
    ["an empty id", { keys: { "": randomBytes(32) }, activeKey: "" }, "encryption.keys"],
    [
      "a long id",
      { keys: { ["é".repeat(128)]: randomBytes(32) }, activeKey: "é".repeat(128) },
      "encryption.keys",
    ],
    ["an ill-formed id", { keys: { "\ud800": randomBytes(32) }, activeKey: "\ud800" }, "encryption.keys"],
    ["a short hash key", { hashKey: new Uint8Array(8) }, "encryption.hashKey"],
    ["no hash key", { hashKey: undefined }, "encryption.hashKey"],
    ["a refusePlaintext that is no boolean", { refusePlaintext: "yes" }, "encryption.refusePlaintext"],
  ])("is not constructed with %s", (_, more, field) => {
    const construct = (): Cipher => new Cipher({ ...options(), ...(more as Partial<EncryptionOptions>) });
    expect(construct).toThrow(InvalidOptionError);
    expect(construct).toThrow(field);
    expect(construct).not.toThrow("aaaa");
  });
});
