import { runInNewContext } from "node:vm";
import canonicalize from "canonicalize";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { canonical, describing } from "../src/identity/canonical.ts";
import { fingerprintOf, fingerprintsOf, headAfter } from "../src/identity/fingerprint.ts";

describe("canonical JSON", () => {
  it("is that of another implementation of RFC 8785, for any JSON", () => {
    fc.assert(
      fc.property(fc.jsonValue({ maxDepth: 5 }), (value) => {
        expect(canonical(value)).toBe(canonicalize(value));
      }),
      { numRuns: 500 },
    );
  });

  it("has the RFC's own example", () => {
    const given = {
      numbers: [Number("333333333.33333329"), 1e30, 4.5, 2e-3, 0.000000000000000000000000001],
      string: "\u20ac$\u000F\u000aA'\u0042\u0022\u005c\\\"/",
      literals: [null, true, false],
    };
    expect(canonical(given)).toBe(
      '{"literals":[null,true,false],"numbers":[333333333.3333333,1e+30,4.5,0.002,1e-27],"string":"€$\\u000f\\nA\'B\\"\\\\\\\\\\"/"}',
    );
  });

  it("doesn't depend on the order of keys, on 1.0 or 1, on -0 or 0, at any depth", () => {
    expect(canonical({ b: [{ y: 1.0, x: -0 }], a: undefined })).toBe(canonical({ b: [{ x: 0, y: 1 }] }));
  });

  it("keeps texts apart that only look alike", () => {
    expect(canonical("\u00e9")).not.toBe(canonical("e\u0301"));
  });

  it("takes holes of an array for null, and objects of other realms and prototypes for what they hold", () => {
    const holes = Object.assign([1], { 2: { a: Object.assign(Array(1), { 1: 2 }) } });
    expect(canonical(holes)).toBe('[1,null,{"a":[null,2]}]');
    expect(canonical(runInNewContext("({ a: [{ b: 1 }] })"))).toBe('{"a":[{"b":1}]}');
    expect(canonical(Object.create(Object.create(null)))).toBe("{}");
  });

  it("describes what has no fields by what it says of itself, so that different ones differ", () => {
    const pairs = [
      [new URL("http://a/"), new URL("http://b/")],
      [/a/, /b/],
      [new Uint8Array([1]).buffer, new Uint8Array([2]).buffer],
    ];
    for (const [one, other] of pairs) {
      expect(describing({ one })).toBe(describing({ one }));
      expect(describing(one)).not.toBe(describing(other));
    }
  });

  const cycle: Record<string, unknown> = {};
  cycle["self"] = { cycle };
  it.each([
    ["NaN", { a: [1, Number.NaN] }, "$.a[1]", "NaN"],
    ["a BigInt", { amount: 5n }, "$.amount", "a bigint"],
    ["a lone surrogate", { name: "\ud800" }, "$.name", "a lone surrogate"],
    ["a lone surrogate in a name", { "\ud800": 1 }, "$.\ud800", "a lone surrogate in a name"],
    ["a cycle", cycle, "$.self.cycle", "a cycle"],
    ["a date", { at: new Date(0) }, "$.at", "an object of class Date"],
    ["a function", { f: () => 1 }, "$.f", "a function"],
    ["nothing at all", undefined, "$", "undefined"],
  ])("refuses %s, and names its place", (_name, value, path, found) => {
    expect(() => canonical(value)).toThrowError(
      expect.objectContaining({ code: "SERIALIZATION", data: { path, found } }),
    );
  });
});

describe("fingerprints", () => {
  const none = (tool: string) => ({ tool, version: null });
  const pay = (amount: number) => ({ name: "pay", args: { amount } });

  it("tell two equal calls of one message apart, and a call with another version", () => {
    const [first, second] = fingerprintsOf([pay(1), pay(1)], "", none);
    expect(first).not.toBe(second);
    expect(fingerprintsOf([pay(1)], "", (tool) => ({ tool, version: "2" }))[0]).not.toBe(first);
  });

  it("don't depend on the order of parallel calls; nor does the head after them", () => {
    const some = fingerprintsOf([pay(1), pay(2)], "", none);
    const swapped = fingerprintsOf([pay(2), pay(1)], "", none);
    expect(swapped).toEqual(some.toReversed());
    expect(headAfter("", swapped)).toBe(headAfter("", some));
  });

  it("of a message with one more call: those of the others stay, and what follows is new", () => {
    const before = fingerprintsOf([pay(1), pay(2)], "", none);
    const after = fingerprintsOf([pay(1), pay(2), pay(3)], "", none);
    expect(after.slice(0, 2)).toEqual(before);
    expect(headAfter("", after)).not.toBe(headAfter("", before));
  });

  it("of a call in the next message differ from those of an equal one before", () => {
    const [first] = fingerprintsOf([pay(1)], "", none);
    expect(fingerprintsOf([pay(1)], headAfter("", [first!]), none)[0]).not.toBe(first);
  });

  it("are what they were: stored ones have to be found again", () => {
    expect(
      fingerprintOf({ tool: "pay", version: null, args: { b: 1, a: 2 }, previous: "", nth: 0 }),
    ).toMatchInlineSnapshot(`"2f85d285e2320f618c87f7e787af716dfa12194f45ff0569d9f4bd3a76cf07f3"`);
  });
});
