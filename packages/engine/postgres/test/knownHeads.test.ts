import { PostgresSaver, type PostgresSaverOptions } from "@stratigraph/postgres";
import { expect, test } from "vitest";
import { freshDatabase } from "../../../../test/servers/shared.ts";
import { tracedWhile } from "../../../../test/tracedWhile.ts";
import { at, checkpointOf } from "./support/checkpoints.ts";
import { logOf, threeNodes } from "./support/threeNodes.ts";

// A saver that has the values of a head in memory asks the database only for what may have changed, by a peek instead of a read.

let database: Awaited<ReturnType<typeof freshDatabase>>;
const opened: PostgresSaver[] = [];

function open(options: PostgresSaverOptions = {}): PostgresSaver {
  const saver = PostgresSaver.fromConnString(database.url, options);
  opened.push(saver);
  return saver;
}

beforeAll(async () => {
  database = await freshDatabase();
  await open().setup();
});
afterAll(async () => {
  for (const saver of opened) await saver.end();
  await database.drop();
});

/** Which calls of the tier some work made. */
async function callsOf(work: () => Promise<unknown>): Promise<string[]> {
  const traces = await tracedWhile(work);
  return traces.flatMap((event) => (event.type === "call" ? [event.method] : []));
}

const thread = (id: string) => ({ configurable: { thread_id: id } });

test("the head that a saver left is read without its bytes, and comes back as it was, each time a value of its own", async () => {
  const saver = open();
  const graph = threeNodes(saver);
  await graph.invoke({ last: "a".repeat(5_000) }, thread("own"));
  const [first, again] = [await saver.getTuple(at("own")), await saver.getTuple(at("own"))];
  expect(await callsOf(() => saver.getTuple(at("own")))).toEqual(["peek"]);
  expect(again).toEqual(first);
  (first!.checkpoint.channel_values["log"] as string[]).push("changed by a graph");
  const third = await saver.getTuple(at("own"));
  expect(third).toEqual(again);
  expect(third).toEqual(await open().getTuple(at("own")));
});

test("pending writes are among what can have changed, also long ones", async () => {
  const saver = open();
  const checkpoint = checkpointOf({ messages: ["x".repeat(5_000)] });
  await saver.put(at("writes"), checkpoint, { source: "loop", step: 0, parents: {} }, { messages: 1 });
  const other = open();
  await other.putWrites(at("writes", checkpoint.id), [["messages", "y".repeat(9_000)]], "theirs");
  await saver.putWrites(at("writes", checkpoint.id), [["messages", "z".repeat(9_000)]], "ours");
  for (const _ of [1, 2]) {
    const tuple = await saver.getTuple(at("writes"));
    expect(tuple?.pendingWrites).toEqual([
      ["ours", "messages", "z".repeat(9_000)],
      ["theirs", "messages", "y".repeat(9_000)],
    ]);
    expect(tuple).toEqual(await open().getTuple(at("writes")));
  }
});

test("where others write too, a wrong guess costs one peek, and none after it", async () => {
  const [one, other] = [open(), open()];
  const turn = async (saver: PostgresSaver, name: string): Promise<string[]> => {
    const calls = await callsOf(() =>
      threeNodes(saver).invoke({ last: name.repeat(100) }, { ...thread("shared"), durability: "sync" }),
    );
    return calls.filter((method) => method !== "append");
  };
  expect(await turn(one, "a")).toEqual(["read"]);
  expect(await turn(one, "b")).toEqual(["peek"]);
  await turn(other, "c");
  expect(await turn(one, "d")).toEqual(["peek", "read"]);
  await turn(other, "e");
  expect(await turn(one, "f")).toEqual(["read"]);
  // Alone again.
  expect(await turn(one, "g")).toEqual(["read"]);
  expect(await turn(one, "h")).toEqual(["peek"]);
  const { values } = await threeNodes(one).getState(thread("shared"));
  expect(values.log).toEqual([..."abcdefgh"].flatMap((name) => logOf(name.repeat(100))));
});

test("what was decoded while the database was asked is of another checkpoint where that became the head: it isn't given out", async () => {
  const [one, other] = [open(), open()];
  const thread = threeNodes(one);
  await thread.invoke({ last: "first".repeat(100) }, at("promoted"));
  const first = await one.getTuple(at("promoted"));
  await thread.invoke({ last: "second".repeat(100) }, at("promoted"));
  const second = await one.getTuple(at("promoted"));
  await other.promote(first!.config);
  const calls = await callsOf(async () => expect(await one.getTuple(at("promoted"))).toEqual(first));
  expect(calls).toEqual(["peek"]);
  await other.promote(second!.config);
  expect(await one.getTuple(at("promoted"))).toEqual(second);
});

test("a value that can't be revived is an error of the read that asked for it, and of nothing else", async () => {
  const saver = open();
  const checkpoint = checkpointOf({ messages: ["x".repeat(5_000)], other: "y".repeat(200) });
  await saver.put(
    at("revived"),
    checkpoint,
    { source: "loop", step: 0, parents: {} },
    { messages: 1, other: 1 },
  );
  const { loadsTyped } = saver.serde;
  const load = loadsTyped.bind(saver.serde);
  saver.serde.loadsTyped = (async (...args: Parameters<typeof loadsTyped>) => {
    if (args[1].length > 100) throw new Error("no such class any more");
    return (await load(...args)) as unknown;
  }) as typeof loadsTyped;
  await expect(saver.getTuple(at("revived"))).rejects.toThrow("no such class any more");
  saver.serde.loadsTyped = loadsTyped;
  expect((await saver.getTuple(at("revived")))?.checkpoint.channel_values).toEqual(checkpoint.channel_values);
});

test("a thread that was deleted and begun anew by another process is another one", async () => {
  const [one, other] = [open(), open()];
  await threeNodes(one).invoke({ last: "before" }, thread("again"));
  await other.deleteThread("again");
  expect(await one.getTuple(at("again"))).toBeUndefined();
  await threeNodes(other).invoke({ last: "after" }, thread("again"));
  expect((await threeNodes(one).getState(thread("again"))).values.log).toEqual(logOf("after"));
});

test("what isn't remembered is read", async () => {
  const saver = open({ patchMemory: "1kb" });
  const checkpoint = checkpointOf({ messages: ["x".repeat(5_000)] });
  await saver.put(at("small"), checkpoint, { source: "loop", step: 0, parents: {} }, { messages: 1 });
  expect(await callsOf(() => saver.getTuple(at("small")))).toEqual(["read"]);
});

test("a value that is forgotten while its head is read is read after all", async () => {
  const saver = open();
  const checkpoint = checkpointOf({ messages: ["x".repeat(5_000)] });
  await saver.put(at("late"), checkpoint, { source: "loop", step: 0, parents: {} }, { messages: 1 });
  const { tier } = saver;
  const { peek } = tier;
  const seen = new Set<string>();
  for (let turns = 0; turns < 40; turns += 1) {
    await saver.getTuple(at("late"));
    tier.peek = async (address) => {
      const answer = await peek.call(tier, address);
      void (async () => {
        for (let turn = 0; turn < turns; turn += 1) await undefined;
        saver.coder.forgetThread("late");
      })();
      return answer;
    };
    let tuple: unknown;
    const calls = await callsOf(async () => (tuple = await saver.getTuple(at("late"))));
    expect(tuple).toMatchObject({ checkpoint: { channel_values: { messages: ["x".repeat(5_000)] } } });
    seen.add(calls.join());
    tier.peek = peek;
  }
  expect([...seen].toSorted()).toEqual(["peek", "peek,read"]);
});
