// long file: one table of values and what they come back as
import { createContext, runInContext } from "node:vm";
import { Document } from "@langchain/core/documents";
import { FakeListChatModel } from "@langchain/core/utils/testing";
import {
  AIMessage,
  AIMessageChunk,
  HumanMessage,
  ToolMessage,
  type UsageMetadata,
} from "@langchain/core/messages";
import { StringPromptValue } from "@langchain/core/prompt_values";
import { DeltaSnapshot } from "@langchain/langgraph-checkpoint";
import { SerializationError, StratigraphSerializer } from "../../src/serde/index.ts";
import { difference } from "./difference.ts";

const serde = new StratigraphSerializer();

function roundTrip<T>(value: T, serializer = serde): T {
  return serializer.loads(...serializer.dumps(value)) as T;
}

const withProto: unknown = JSON.parse('{"__proto__": {"polluted": true}, "a": {"__proto__": 1}}');
const nullPrototype = Object.assign(Object.create(null) as object, { a: 1, lc: 2, type: "undefined" });
const subarray = new Uint8Array([9, 1, 2, 3, 9]).subarray(1, 4);

class Money extends Object {
  constructor(readonly cents: bigint) {
    super();
  }
}

describe("values that LangGraph's format destroys", () => {
  it.each<[string, unknown]>([
    ["NaN", Number.NaN],
    ["infinities and -0", [Infinity, -Infinity, -0, 0]],
    ["BigInt", [0n, -5n, 2n ** 200n]],
    ["Date", [new Date(0), new Date("2026-11-20T12:00:00.123Z"), new Date(-8.64e15), new Date(Number.NaN)]],
    ["URL", new URL("https://a.example/b?c=d#e")],
    ["undefined", { a: undefined, b: [undefined, { c: undefined }] }],
    [
      "Map with any keys",
      new Map<unknown, unknown>([
        [new Date(1), 1n],
        [Number.NaN, new Map([[undefined, new Set([-0])]])],
      ]),
    ],
    ["Set", new Set<unknown>([new Date(1), [new Set([1n])]])],
    ["RegExp", /a\/b/dgimsuy],
    ["nested Uint8Array", { a: new Uint8Array([0, 255]), b: [subarray] }],
    ["Buffer", { a: Buffer.from("hello"), b: Buffer.alloc(0) }],
    ["a top-level Buffer", Buffer.from("hello")],
    ["a top-level Uint8Array", new Uint8Array([1, 2])],
    [
      "typed arrays",
      [new Int8Array([-1]), new Uint8ClampedArray([3]), new Int16Array([-300]), new Uint16Array([65535])],
    ],
    [
      "more typed arrays",
      [
        new Int32Array([-1]),
        new Uint32Array([1]),
        new Float32Array([0.5]),
        new Float64Array([Math.PI, Number.NaN]),
      ],
    ],
    ["BigInt arrays", [new BigInt64Array([-1n]), new BigUint64Array([2n ** 63n])]],
    ["ArrayBuffer and DataView", [new ArrayBuffer(3), new DataView(new Uint8Array([1, 2, 3]).buffer, 1, 2)]],
    ["own __proto__ keys", withProto],
    ["objects without prototype", [nullPrototype, { inner: nullPrototype }]],
    [
      "data that looks like our records",
      { lc: 2, type: "sg:Date", value: "x", inner: { lc: 2, type: "sg:plain", value: 1 } },
    ],
    ["data that looks like undefined", [{ lc: 2, type: "undefined" }]],
    [
      "data that looks like a Map",
      { lc: 2, type: "constructor", id: ["Map"], args: [[]], when: new Date(5) },
    ],
    [
      "data that looks like a message",
      { lc: 1, type: "constructor", id: ["langchain_core", "messages", "AIMessage"], kwargs: {} },
    ],
    ["data that looks like a DeltaSnapshot", { lc: 2, type: "delta_snapshot", value: 1 }],
    ["data that looks escaped", { __lc_escaped__: { lc: 1 } }],
    ["Error", new Error("plain")],
    [
      "Error with a cause",
      new TypeError("outer", { cause: new RangeError("inner", { cause: { at: new Date(0) } }) }),
    ],
    ["Errors in an AggregateError", new AggregateError([new SyntaxError("a"), 5n], "many")],
    [
      "Error with primitive properties",
      Object.assign(new Error("x"), { code: "ENOENT", errno: -2n, weight: -0, lc: 2 }),
    ],
    ["DOMException", new DOMException("stopped", "AbortError")],
    ["DeltaSnapshot", new DeltaSnapshot({ when: new Date(0) })],
    [
      "Document",
      [
        new Document({ pageContent: "a", metadata: { at: new Date(0) } }),
        new Document({ pageContent: "b", id: "i" }),
      ],
    ],
    ["StringPromptValue", new StringPromptValue("text")],
  ])("keeps %s", (_name, value) => {
    expect(difference(roundTrip(value), value)).toBeUndefined();
  });

  it("keeps them inside messages", () => {
    const artifact = {
      when: new Date(0),
      bytes: new Uint8Array([1]),
      map: new Map<unknown, unknown>([["a", { lc: 1, type: "constructor" }]]),
      looksLike: {
        lc: 2,
        type: "undefined",
        inner: { lc: 3, deep: [{ lc: 1, type: "constructor", id: [], kwargs: {} }] },
      },
      escaped: { __lc_escaped__: { __lc_escaped__: 1 } },
      message: new HumanMessage({ content: "nested", additional_kwargs: { at: new Date(1), lc: 7 } }),
      documents: [new Document({ pageContent: "a", metadata: { n: 1n } })],
      nothing: [undefined, { a: undefined }],
    };
    const message = new ToolMessage({ content: "x", tool_call_id: "1", artifact });
    const loaded = roundTrip(message);
    expect(loaded).toBeInstanceOf(ToolMessage);
    expect(difference(loaded, message)).toBeUndefined();
  });

  it("turns holes in arrays into undefined", () => {
    // eslint-disable-next-line no-sparse-arrays
    expect(difference(roundTrip([1, , 3]), [1, undefined, 3])).toBeUndefined();
  });

  it("makes an unknown Error class the nearest built-in one, and keeps its name", () => {
    class QuotaError extends RangeError {
      override name = "QuotaError";
      request = new WeakMap();
      status = 429;
    }
    const error = new QuotaError("too much");
    const loaded = roundTrip(error);
    expect(Object.getPrototypeOf(loaded)).toBe(RangeError.prototype);
    expect({ ...loaded, name: loaded.name, stack: loaded.stack, message: loaded.message }).toEqual({
      status: 429,
      name: "QuotaError",
      stack: error.stack,
      message: "too much",
    });
  });

  it("takes built-ins of another realm", () => {
    const code =
      "({ d: new Date(0), m: new Map([[1, [new Set([2])]]]), r: /x/g, u: new Uint8Array([1]), n: {} })";
    const foreign: unknown = runInContext(code, createContext({}));
    const here = {
      d: new Date(0),
      m: new Map([[1, [new Set([2])]]]),
      r: /x/g,
      u: new Uint8Array([1]),
      n: {},
    };
    expect(difference(roundTrip(foreign), here)).toBeUndefined();
    const error = runInContext("new TypeError('there')", createContext({})) as Error;
    expect(roundTrip(error)).toMatchObject({ name: "TypeError", message: "there" });
  });

  it("keeps every message field that its constructor drops or that was set late", () => {
    const chunk = new AIMessageChunk({ content: "a" });
    const usage: UsageMetadata = { input_tokens: 1, output_tokens: 1, total_tokens: 2 };
    Object.assign(chunk, { usage_metadata: usage, name: "late", id: "late" });
    expect(roundTrip(chunk)).toMatchObject({ usage_metadata: usage, name: "late", id: "late" });
  });

  it("gives new objects at every call, and shares none with the value", () => {
    const bytes = new Uint8Array([1]);
    const stored = serde.dumps({ bytes, message: new AIMessage("a") });
    const top = serde.dumps(bytes);
    bytes[0] = 9;
    const first = serde.loads(...stored) as { bytes: Uint8Array; message: AIMessage };
    first.bytes[0] = 7;
    first.message.content = "changed";
    expect(serde.loads(...stored)).toMatchObject({ bytes: new Uint8Array([1]), message: { content: "a" } });
    const loaded = serde.loads(...top) as Uint8Array;
    expect(loaded).toStrictEqual(new Uint8Array([1]));
    loaded[0] = 5;
    expect(serde.loads(...top)).toStrictEqual(new Uint8Array([1]));
  });
});

describe("values that can't be kept", () => {
  class Foo {
    at = new Date(0);
  }
  const cyclic: Record<string, unknown> = { list: [{}] };
  (cyclic.list as Record<string, unknown>[])[0]!.back = cyclic;

  it.each<[unknown, string, string]>([
    [
      { messages: [1, { additional_kwargs: { cb: () => 1 } }] },
      "messages[1].additional_kwargs.cb",
      "a function",
    ],
    [
      [new HumanMessage({ content: "x", additional_kwargs: { s: Symbol("s") } })],
      "[0].additional_kwargs.s",
      "a symbol",
    ],
    [{ "a b": new Map([[1, new WeakMap()]]) }, '["a b"][0].value', "an instance of WeakMap"],
    [new Map([[() => 1, 1]]), "[0].key", "a function"],
    [new Set([Promise.resolve()]), "[0]", "an instance of Promise"],
    [{ e: new Error("x", { cause: new Foo() }) }, "e.cause", "an instance of Foo"],
    [new Foo(), "", "an instance of Foo"],
    [{ a: new (class extends Map {})() }, "a", "an anonymous class"],
    [{ a: new (class List extends Array {})() }, "a", "an instance of List"],
    [{ a: new (class Mine extends HumanMessage {})("x") }, "a", "an instance of Mine"],
    [{ a: new FakeListChatModel({ responses: [] }) }, "a", "an instance of FakeListChatModel"],
    [{ a: Object.create({ inherited: 1 }) }, "a", "made with Object.create"],
    [{ a: new Number(1) }, "a", "an instance of Number"],
    [{ a: new SharedArrayBuffer(1) }, "a", "an instance of SharedArrayBuffer"],
    [{ d: new Document({ pageContent: "", metadata: { cb: () => 1 } }) }, "d.metadata.cb", "a function"],
    [cyclic, "list[0].back", "a cycle back to the value itself"],
    [{ a: { b: cyclic } }, "a.b.list[0].back", "a cycle back to a.b"],
  ])("refuses %#, naming the path", (value, path, found) => {
    const error = catchError(() => serde.dumps(value));
    expect(error).toBeInstanceOf(SerializationError);
    expect(error).toMatchObject({ code: "SERIALIZATION", path, found: expect.stringContaining(found) });
    expect(error.message).toContain(path);
  });

  it("names the path also when awaited", async () => {
    await expect(serde.dumpsTyped({ a: Symbol("s") })).rejects.toMatchObject({
      code: "SERIALIZATION",
      path: "a",
    });
  });

  it("stores plain data of unknown classes where asked to, as LangGraph does", () => {
    const plain = new StratigraphSerializer({ unknownClasses: "plain" });
    const withToJson = { toJSON: () => ({ cents: 5n }) };
    expect(
      difference(roundTrip<unknown>({ a: new Foo() }, plain), { a: { at: new Date(0) } }),
    ).toBeUndefined();
    const instance: unknown = Object.create(Object.create(withToJson) as object);
    expect(roundTrip<unknown>({ a: instance }, plain)).toStrictEqual({ a: { cents: 5n } });
    expect(() => plain.dumps({ a: new WeakMap() })).toThrow(SerializationError);
    expect(roundTrip<unknown>(new FakeListChatModel({ responses: [] }), plain)).toMatchObject({ lc: 1 });
  });
});

describe("registered types", () => {
  const money = {
    name: "money",
    class: Money,
    toData: (value: Money) => ({ cents: value.cents }),
    fromData: (data: unknown) => new Money((data as { cents: bigint }).cents),
  };

  it("keep their class, wherever they are", () => {
    const registered = new StratigraphSerializer({ types: [money] });
    const value = {
      a: new Money(5n),
      b: new HumanMessage({ content: "", additional_kwargs: { m: new Money(6n) } }),
    };
    expect(difference(roundTrip(value, registered), value)).toBeUndefined();
    expect(() => serde.loads(...registered.dumps(value))).toThrow(
      'Cannot read back a: found a value of the type "money"',
    );
  });

  it("are refused where their conversion throws", () => {
    const broken = new StratigraphSerializer();
    const cause = new Error("broken");
    broken.register({
      ...money,
      toData: () => {
        throw cause;
      },
    });
    expect(catchError(() => broken.dumps({ a: new Money(1n) }))).toMatchObject({ path: "a", cause });
    const unreadable = new StratigraphSerializer();
    unreadable.register({
      ...money,
      fromData: () => {
        throw cause;
      },
    });
    expect(catchError(() => unreadable.loads(...unreadable.dumps([new Money(1n)])))).toMatchObject({
      path: "[0]",
      cause,
    });
  });

  it("have one name and one class each", () => {
    const registered = new StratigraphSerializer({ types: [money] });
    expect(() => registered.register(money)).toThrow(TypeError);
    expect(() => registered.register({ ...money, class: class Other extends Money {} })).toThrow('"money"');
    expect(() => registered.register({ ...money, name: "", class: class Other extends Money {} })).toThrow(
      "Invalid option name: found",
    );
    expect(() => registered.register({ ...money, name: "date", class: Date as never })).toThrow(TypeError);
    expect(() => registered.register({ ...money, name: "ai", class: AIMessage as never })).toThrow(TypeError);
  });
});

function catchError(work: () => unknown): Error {
  try {
    work();
  } catch (error) {
    return error as Error;
  }
  throw new Error("Nothing was thrown.");
}
