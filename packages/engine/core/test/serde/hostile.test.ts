import fc from "fast-check";
import { HumanMessage } from "@langchain/core/messages";
import { SerializationError, StratigraphSerializer } from "../../src/serde/index.ts";

const serde = new StratigraphSerializer();

/** The value, or the SerializationError; any other error fails the test that called. */
function tryLoads(data: Uint8Array | string, type = "json"): unknown {
  try {
    return serde.loads(type, data);
  } catch (error) {
    expect(error).toBeInstanceOf(SerializationError);
    expect((error as SerializationError).message.length).toBeLessThan(2000);
    return error;
  }
}

describe("hostile values", () => {
  it.each([2_000, 100_000])("refuses %d levels of nesting with a typed error", (levels) => {
    let list: unknown = 1;
    let map: unknown = 1;
    for (let level = 0; level < levels; level++) {
      list = { a: [list] };
      map = new Map([["a", map]]);
    }
    for (const value of [list, map, new HumanMessage({ content: "", additional_kwargs: { list } })]) {
      expect(() => serde.dumps(value)).toThrow(SerializationError);
      expect(() => serde.dumps(value)).toThrow("nesting deeper than 1000 levels");
    }
  });

  it("doesn't report a cycle for a value that is only deep and shared", () => {
    const shared = { a: 1 };
    let map: unknown = 1;
    for (let level = 0; level < 600; level++)
      map = new Map<unknown, unknown>([
        [shared, [shared]],
        ["a", map],
      ]);
    expect(() => serde.dumps(map)).toThrow("nesting deeper than 1000 levels");
  });

  it("reads back whatever it agrees to write, at the deepest", () => {
    let map: unknown = 1;
    let plain: unknown = 1;
    let message: unknown = 1;
    for (let level = 0; level < 499; level++) {
      map = new Map([[map, level]]);
      plain = { lc: 2, type: "undefined", plain };
      message = new HumanMessage({ content: "", additional_kwargs: { message } });
    }
    for (const value of [map, plain, message]) {
      const stored = serde.dumps(value);
      expect(serde.dumps(serde.loads(...stored))).toStrictEqual(stored);
    }
  });

  it("turns a getter that throws into a typed error", () => {
    const value = {
      get a(): never {
        throw new Error("no");
      },
    };
    expect(() => serde.dumps({ value })).toThrow(SerializationError);
  });
});

describe("hostile data", () => {
  it.each(["[", '{"a":'])("refuses 100,000 levels of %s with a typed error", (open) => {
    const close = open === "[" ? "]" : "}";
    const json = `${open.repeat(100_000)}{"lc":2,"type":"undefined"}${close.repeat(100_000)}`;
    expect(tryLoads(json)).toBeInstanceOf(SerializationError);
  });

  it("pollutes no prototype", () => {
    const record = '{"lc":1,"type":"constructor","id":["langchain_core","messages","HumanMessage"],"kwargs":';
    for (const json of [
      '{"__proto__":{"polluted":{"lc":2,"type":"undefined"}},"constructor":{"prototype":{"polluted":1}}}',
      '{"lc":2,"type":"sg:plain","value":{"__proto__":{"polluted":1}}}',
      '{"lc":2,"type":"sg:null-prototype","value":{"__proto__":{"polluted":1}}}',
      `${record}{"__proto__":{"polluted":1},"content":"x","_proto_":1,"constructor":1,"to_string":2}}`,
      `${record}{"content":"x","additional_kwargs":{"__proto__":{"polluted":1}}}}`,
      '{"lc":2,"type":"sg:Send","node":"n","args":{"__proto__":{"polluted":1}}}',
      '{"lc":2,"type":"constructor","id":["Error"],"args":["x"],"kwargs":{"properties":{"__proto__":{"polluted":1}}}}',
    ]) {
      tryLoads(json);
      expect(({} as { polluted?: unknown }).polluted).toBeUndefined();
      expect((new HumanMessage("") as { polluted?: unknown }).polluted).toBeUndefined();
    }
  });

  it.each([
    '{"lc":2,"type":"sg:nothing"}',
    '{"lc":2,"type":"sg:constructor"}',
    '{"lc":2,"type":"sg:__proto__"}',
    '{"lc":2,"type":"sg:Date","value":{}}',
    '{"lc":2,"type":"sg:Date","value":"never"}',
    '{"lc":2,"type":"sg:number","value":"1"}',
    '{"lc":2,"type":"sg:bigint","value":"1e9"}',
    '{"lc":2,"type":"sg:URL","value":"no url"}',
    '{"lc":2,"type":"sg:bytes","class":"Uint8Array","value":"a"}',
    '{"lc":2,"type":"sg:bytes","class":"Uint8Array","value":"!!!!"}',
    '{"lc":2,"type":"sg:bytes","class":"Uint8Array","value":1000000000000}',
    '{"lc":2,"type":"sg:bytes","class":"Uint8Array"}',
    '{"lc":2,"type":"sg:bytes","class":"Float64Array","value":"AAAA"}',
    '{"lc":2,"type":"sg:bytes","class":"Function","value":"AAAA"}',
    '{"lc":2,"type":"sg:bytes","class":"constructor","value":"AAAA"}',
    '{"lc":2,"type":"sg:plain","value":[]}',
    '{"lc":2,"type":"sg:null-prototype"}',
    '{"lc":2,"type":"sg:type","name":"toString","value":1}',
    '{"lc":2,"type":"sg:type","name":1,"value":1}',
    '{"lc":2,"type":"sg:Document","pageContent":1}',
    '{"lc":2,"type":"sg:Document","pageContent":"","metadata":1}',
    '{"lc":2,"type":"sg:Send","node":{}}',
    '{"lc":2,"type":"sg:Overwrite"}',
    '{"lc":1,"type":"constructor","id":["langchain_core","load","Serializable"],"kwargs":{}}',
    '{"lc":1,"type":"constructor","id":["langchain_core","messages","coerceMessageLikeToMessage"],"kwargs":{}}',
    '{"lc":1,"type":"constructor","id":["langchain_core","messages","__proto__"],"kwargs":{}}',
    '{"lc":1,"type":"constructor","id":[],"kwargs":{}}',
    '{"lc":1,"type":"constructor","id":[{"toString":1}],"kwargs":{}}',
    '{"lc":1,"type":"constructor","id":["langchain_core","messages","AIMessage"],"kwargs":null}',
    '{"lc":1,"type":"constructor","id":["langchain_core","messages","AIMessage"],"kwargs":[1]}',
    '{"lc":1,"type":"constructor","id":["langchain_core","messages","AIMessage"],"kwargs":{"response_metadata":1}}',
    "{",
    "undefined",
    "\u0000",
  ])("refuses %s", (json) => {
    expect(tryLoads(json)).toBeInstanceOf(SerializationError);
    expect(tryLoads(`{"a":[${json}]}`)).toBeInstanceOf(SerializationError);
  });

  it("names where damaged data is", () => {
    expect(tryLoads('{"a":[1,{"b":{"lc":2,"type":"sg:Date","value":"never"}}]}')).toMatchObject({
      path: "a[1].b",
    });
  });

  it("refuses empty input", () => {
    expect(tryLoads(new Uint8Array())).toBeInstanceOf(SerializationError);
  });

  it("refuses a format that it doesn't know", () => {
    expect(tryLoads(new Uint8Array(), "pickle")).toBeInstanceOf(SerializationError);
  });

  const parts = fc.oneof(
    fc.constantFrom(
      1,
      2,
      "constructor",
      "undefined",
      "delta_snapshot",
      "sg:Date",
      "sg:bytes",
      "sg:plain",
      "sg:type",
    ),
    fc.constantFrom(
      "sg:Send",
      "sg:Command",
      "sg:Overwrite",
      "sg:Document",
      "sg:number",
      "sg:URL",
      "sg:null-prototype",
    ),
    fc.constantFrom(
      "langchain_core",
      "messages",
      "AIMessage",
      "ToolMessage",
      "AIMessageChunk",
      "ChatPromptValue",
    ),
    fc.constantFrom("Map", "Set", "RegExp", "Error", "Uint8Array", "from", null, true, "AAAA", "v1", -1),
  );
  const keys = fc.constantFrom(
    ...[
      "lc",
      "type",
      "id",
      "kwargs",
      "args",
      "method",
      "value",
      "class",
      "name",
      "content",
      "tool_calls",
      "node",
    ],
    ...[
      "additional_kwargs",
      "response_metadata",
      "output_version",
      "tool_call_chunks",
      "metadata",
      "goto",
      "messages",
    ],
    ...[
      "__overwrite__",
      "__proto__",
      "constructor",
      "__lc_escaped__",
      "pageContent",
      "content_blocks",
      "properties",
    ],
  );
  const { json } = fc.letrec<{ json: unknown }>((tie) => ({
    json: fc.oneof(
      { maxDepth: 6, withCrossShrink: true },
      parts,
      fc.array(tie("json"), { maxLength: 3 }),
      fc.array(fc.tuple(keys, tie("json")), { maxLength: 6 }).map((entries) => Object.fromEntries(entries)),
    ),
  }));
  const records = fc
    .tuple(
      fc.constantFrom(1, 2),
      parts,
      fc.dictionary(keys, json, { maxKeys: 5 }),
      fc.array(parts, { maxLength: 3 }),
    )
    .map(([lc, type, rest, id]) => ({ id, ...rest, lc, type }));

  it("gives data or a typed error for any arrangement of record keys", () => {
    const warn = vi.spyOn(console, "warn").mockImplementation(() => undefined);
    fc.assert(
      fc.property(fc.oneof(json, records), (value) => {
        tryLoads(JSON.stringify({ a: [value] }));
        expect(Object.keys(Object.prototype)).toEqual([]);
      }),
      { numRuns: 3000, seed: 3 },
    );
    warn.mockRestore();
  });

  it("gives data or a typed error for damaged bytes", () => {
    const [, bytes] = serde.dumps({
      messages: [new HumanMessage({ id: "1", content: "größer", additional_kwargs: { at: new Date(0) } })],
      map: new Map<unknown, unknown>([[1n, new Uint8Array([1, 2])]]),
      error: new TypeError("x", { cause: -0 }),
      odd: [undefined, { lc: 1, type: "constructor" }, /x/g, new Float64Array(1)],
    });
    const damage = fc.array(fc.tuple(fc.nat(bytes.length - 1), fc.nat(255)), { minLength: 1, maxLength: 4 });
    fc.assert(
      fc.property(damage, fc.nat(bytes.length), (changes, length) => {
        const damaged = bytes.slice();
        for (const [at, byte] of changes) damaged[at] = byte;
        tryLoads(damaged);
        tryLoads(damaged.subarray(0, length));
      }),
      { numRuns: 2000, seed: 5 },
    );
  });
});
