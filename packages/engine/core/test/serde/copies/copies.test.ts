import { ItemSnapshots } from "../../../src/incremental/itemSnapshots.ts";
import { StratigraphSerializer } from "../../../src/serde/index.ts";
import { TypeRegistry } from "../../../src/serde/typeRegistry.ts";
import { difference } from "../difference.ts";
import { COPIES, OTHERS, OWN } from "./langChainCopies.ts";
import { CHANGED, PIECES, SAMPLES } from "./samples.ts";

const text = (value: unknown): string => Buffer.from(new StratigraphSerializer().dumps(value)[1]).toString();

/** Fields as they are, without the arguments an object was built from: how it was built is not its value. */
function fieldsOf(value: object): object {
  return Object.assign(Object.create(Object.getPrototypeOf(value) as object | null) as object, {
    ...value,
    lc_kwargs: undefined,
  });
}

const combinations = COPIES.flatMap(([copy, classes]) =>
  Object.entries({ ...SAMPLES, ...PIECES, ...CHANGED }).map(([name, make]) => ({
    copy,
    name,
    classes,
    make,
  })),
);

test("there are copies that are none of Stratigraph's own", () => {
  expect(OTHERS.length).toBeGreaterThanOrEqual(3);
});

describe.each(COPIES)("@langchain/core %s", (_copy, classes) => {
  it.each(Object.entries(SAMPLES))("%s is written as our own copy's", (_name, make) => {
    expect(text(make(classes))).toBe(text(make(OWN)));
  });

  it.each(Object.entries(PIECES))("%s has the same record", (_name, make) => {
    expect(JSON.parse(text(make(classes)))).toStrictEqual(JSON.parse(text(make(OWN))));
  });
});

function snapshotOf(value: object): ItemSnapshots {
  const snapshots = new ItemSnapshots();
  snapshots.add(value, new TypeRegistry());
  return snapshots;
}

describe.each(combinations)("$name of $copy", ({ make, classes }) => {
  it("is compared by its content, without being serialised", () => {
    const value = make(classes);
    // What has a Date, a Map or a BigInt somewhere inside is compared as bytes, whichever the copy.
    const own = make(OWN);
    if (snapshotOf(own).isSame(0, own) === undefined) return;
    const snapshot = snapshotOf(value);
    expect(snapshot.isSame(0, value)).toBe(true);
    expect(snapshot.isSame(0, make(classes))).toBe(true);
  });

  it("comes back as an instance of its class, with the same fields", () => {
    const serde = new StratigraphSerializer();
    const value = make(classes);
    const read = serde.loads(...serde.dumps(value)) as object;
    expect(Object.getPrototypeOf(read)).toBe(Object.getPrototypeOf(value));
    expect(difference(fieldsOf(read), fieldsOf(value))).toBeUndefined();
  });

  it("comes back with the same fields as an instance of our own class, to who only reads", () => {
    const value = make(classes);
    const read = new StratigraphSerializer().loads(...new StratigraphSerializer().dumps(value)) as object;
    expect(Object.getPrototypeOf(read)).toBe(Object.getPrototypeOf(make(OWN)));
    const fields = Object.setPrototypeOf(fieldsOf(value), Object.getPrototypeOf(read) as object) as object;
    expect(difference(withOwnParts(fieldsOf(read)), withOwnParts(fields))).toBeUndefined();
  });
});

test("Documents and messages of our own copy are compared by their content too", () => {
  for (const name of ["a Document", "a Document with an id", "a human message", "a chat prompt"]) {
    const value = SAMPLES[name]!(OWN);
    expect(snapshotOf(value).isSame(0, value), name).toBe(true);
  }
});

test("the type of a message is that of its class, whatever Python calls it", () => {
  const id = ["langchain_core", "messages", "ai", "AIMessageChunk"];
  const kwargs = { content: "x", type: "AIMessageChunk", tool_calls: [], id: null };
  const json = JSON.stringify({ lc: 1, type: "constructor", id, kwargs });
  const read = new StratigraphSerializer().loads("json", json) as InstanceType<
    typeof OWN.messages.AIMessageChunk
  >;
  expect([read.type, read.getType(), read.id]).toEqual(["ai", "ai", null]);
});

/** Messages inside, by their fields: of a prompt, the messages are of the same copy as the prompt. */
function withOwnParts(value: object): object {
  const { messages } = value as { messages?: object[] };
  return messages === undefined ? value : { ...value, messages: messages.map((message) => ({ ...message })) };
}
