import { MemoryTier, type TierSaver } from "@stratigraph/core";
import { RedisSaver } from "@stratigraph/redis";
import { TieredSaver } from "@stratigraph/tiered";
import { fork, forkMany, merge, promote, undo } from "@stratigraph/branch";
import { sharedRedis } from "../../../../test/servers/shared.ts";
import { CallChain } from "../../../tools/testing/src/promises/callChain.ts";
import { chat, human, on } from "./support/graphs.ts";
import { openStack } from "./support/stack.ts";
import { savers, type Opened } from "./support/savers.ts";

const everywhere: typeof savers = [
  ...savers,
  [
    "RedisSaver",
    async (): Promise<Opened> => {
      const { url, prefix } = await sharedRedis();
      const saver = await RedisSaver.fromUrl(url, { prefix });
      return { saver, close: () => saver.end() };
    },
  ],
  [
    "redis>postgres>s3",
    async (): Promise<Opened> => {
      const stack = await openStack();
      return { saver: (await stack.open()).saver, close: () => stack.close() };
    },
  ],
];

describe.each(everywhere)("tool calls on %s", (_name, open) => {
  let opened: Opened;
  beforeAll(async () => {
    opened = await open();
  });
  afterAll(() => opened.close());

  const chainOf = (threadId: string): CallChain => new CallChain(opened.saver, threadId);
  const say = async (threadId: string, text: string): Promise<void> => {
    await chat(opened.saver).invoke({ messages: [human(text)] }, on(threadId));
  };
  /** Says something, and records a call: the ids of the thread's calls, newest first. */
  const turn = async (threadId: string, text = "hello"): Promise<string[]> => {
    await say(threadId, text);
    await chainOf(threadId).add(1);
    return await chainOf(threadId).read();
  };
  const firstCheckpoint = async (threadId: string): Promise<string> => {
    let id = "";
    for await (const { checkpoint } of opened.saver.list(on(threadId))) ({ id } = checkpoint);
    return id;
  };

  test("a fork inherits all of them, wherever it begins, and goes on by itself", async () => {
    await turn("a");
    const calls = await turn("a");
    const checkpointId = await firstCheckpoint("a");
    const made = [
      await fork(opened.saver, "a"),
      await fork(opened.saver, { threadId: "a", checkpointId }),
      await fork(opened.saver, "a", { history: "full" }),
      ...(await forkMany(opened.saver, "a", 2)),
    ];
    for (const { threadId } of made) {
      expect(await chainOf(threadId).read()).toEqual(calls);
      const [own] = await chainOf(threadId).add(1);
      expect(await chainOf(threadId).read()).toEqual([own, ...calls]);
    }
    expect(await chainOf("a").read()).toEqual(calls);
    const grandchild = await fork(opened.saver, made[0]!.threadId);
    expect(await chainOf(grandchild.threadId).read()).toHaveLength(calls.length + 1);
    await opened.saver.deleteThread("a");
    expect(await chainOf(grandchild.threadId).read()).toHaveLength(calls.length + 1);
  });

  test("with calls: none it begins without", async () => {
    await turn("n");
    const [many] = await forkMany(opened.saver, "n", 1, { calls: "none" });
    const one = await fork(opened.saver, "n", { calls: "none", history: "full" });
    for (const { threadId } of [one, many!]) expect(await chainOf(threadId).read()).toEqual([]);
    const inherited = await fork(opened.saver, "n", { history: "full" });
    expect(inherited.checkpoints).toBe(one.checkpoints + 1);
  });

  test("a thread with calls alone can't become a fork", async () => {
    await turn("s");
    await chainOf("taken").add(1);
    await expect(fork(opened.saver, "s", { to: "taken" })).rejects.toMatchObject({ code: "THREAD_EXISTS" });
    expect(await chainOf("taken").read()).toHaveLength(1);
  });

  test("a fast-forward takes the calls of the fork over, and undoing it keeps them", async () => {
    await turn("f");
    const { threadId } = await fork(opened.saver, "f");
    await turn(threadId);
    const calls = await turn(threadId);
    expect((await merge(chat(opened.saver), "f", threadId)).status).toBe("fast-forward");
    expect(await chainOf("f").read()).toEqual(calls);
    await undo(opened.saver, "f");
    expect(await chainOf("f").read()).toEqual(calls);
    await undo(opened.saver, "f");
    await promote(opened.saver, { threadId: "f", checkpointId: await firstCheckpoint("f") });
    expect(await chainOf("f").read()).toEqual(calls);
  });

  test("a merge takes the calls of one fork over; a chain that parted stays where it is", async () => {
    await turn("m");
    const [one, two] = (await forkMany(opened.saver, "m", 2)).map(({ threadId }) => threadId);
    const calls = await turn(one!, "one");
    const others = await turn(two!, "two");
    await say("m", "three");
    expect((await merge(chat(opened.saver), "m", one!)).status).toBe("merged");
    expect(await chainOf("m").read()).toEqual(calls);
    expect((await merge(chat(opened.saver), "m", two!)).status).toBe("merged");
    expect(await chainOf("m").read()).toEqual(calls);
    expect(await chainOf(two!).read()).toEqual(others);
  });

  test("a call that is recorded while a fork is merged makes the merge repeat", async () => {
    await turn("r");
    const { threadId } = await fork(opened.saver, "r");
    await turn(threadId);
    const { tier } = opened.saver;
    const append = tier.append.bind(tier);
    tier.append = async (request) => {
      tier.append = append;
      await chainOf("r").add(1);
      return await append(request);
    };
    const merging = merge(chat(opened.saver), "r", threadId);
    await expect(merging).rejects.toThrow(/thread "r" recorded a tool call meanwhile/);
    expect(await chainOf("r").read()).toHaveLength(2);
    expect((await merge(chat(opened.saver), "r", threadId)).status).toBe("fast-forward");
  });
});

test("an archived thread is forked with its calls", async () => {
  const stack = await openStack();
  const { saver } = await stack.open();
  const { saver: other } = await stack.open();
  await chat(saver).invoke({ messages: [human("one")] }, on("w"));
  await new CallChain(saver, "w").add(3);
  const calls = await new CallChain(saver, "w").read();
  await stack.archive(1);
  const { threadId } = await fork(other, "w");
  expect(await new CallChain(saver, threadId).read()).toEqual(calls);
  await stack.close();
});

test("trimming moves checkpoints to the archive, and leaves the calls in the warm tier", async () => {
  const warm = new MemoryTier();
  const saver = new TieredSaver({ warm, cold: new MemoryTier(), keepLast: 1, pause: "0ms" });
  for (const text of ["one", "two"]) await chat(saver).invoke({ messages: [human(text)] }, on("t"));
  await new CallChain(saver, "t").add(3);
  const calls = await new CallChain(saver, "t").read();
  expect((await saver.maintain()).steps).toMatchObject([{ what: "trim", done: true }]);
  const own: TierSaver = new TieredSaver({ warm });
  expect(await new CallChain(own, "t").read()).toEqual(calls);
  const { threadId } = await fork(saver, "t");
  expect(await new CallChain(own, threadId).read()).toEqual(calls);
});
