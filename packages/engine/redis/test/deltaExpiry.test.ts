import { Annotation, DeltaChannel, START, StateGraph } from "@langchain/langgraph";
import type { BaseCheckpointSaver } from "@langchain/langgraph-checkpoint";
import { StratigraphError } from "@stratigraph/core";
import { Redis } from "ioredis";
import { sharedRedis } from "../../../../test/servers/shared.ts";
import { RedisSaver } from "../src/index.ts";

// A thread that Redis loses while a node runs. A run goes on with what it has in memory: where channels are plain, its next checkpoint
// holds all of that. A DeltaChannel only stores what is new, so that the checkpoint is refused.

const { url, prefix } = await sharedRedis();
const client = new Redis(url);
const open = () => new RedisSaver({ client, prefix, ttl: "1h" });
afterAll(() => client.disconnect());

const append = (state: string[], writes: string[][]): string[] => [...state, ...writes.flat()];
const channels = {
  DeltaChannel: () => new DeltaChannel<string[], string[]>(append, { snapshotFrequency: 1000 }),
  "plain channel": Annotation<string[]>({ reducer: (a, b) => [...a, ...b], default: () => [] }),
};

const graphOf = (
  checkpointer: BaseCheckpointSaver,
  kind: keyof typeof channels,
  meanwhile: () => Promise<unknown> = async () => {},
) =>
  new StateGraph(Annotation.Root({ list: channels[kind] as (typeof channels)["plain channel"] }))
    .addNode("a", () => ({ list: ["a"] }))
    .addNode("slow", async () => {
      await meanwhile();
      return { list: ["slow"] };
    })
    .addNode("z", () => ({ list: ["z"] }))
    .addEdge(START, "a")
    .addEdge("a", "slow")
    .addEdge("slow", "z")
    .compile({ checkpointer });

const turn = (n: number): string[] => [`in${n}`, "a", "slow", "z"];

/** What is left when the thread expires or is evicted, or the server is flushed: nothing. */
const lose = async (id: string): Promise<void> => {
  expect(await client.del(`${prefix}t:{${id}}`, `${prefix}i:{${id}}`)).toBe(2);
};

for (const durability of ["sync", "async", "exit"] as const) {
  test(`a thread is lost in mid-run, ${durability}: a DeltaChannel's run is refused, and the next one begins anew`, async () => {
    const id = `delta-${durability}`;
    const config = { configurable: { thread_id: id }, durability };
    await graphOf(open(), "DeltaChannel").invoke({ list: ["in0"] }, config);
    const running = graphOf(open(), "DeltaChannel", () => lose(id)).invoke({ list: ["in1"] }, config);
    const error: unknown = await running.then(
      () => undefined,
      (thrown: unknown) => thrown,
    );
    expect(StratigraphError.is(error, "NOT_FOUND"), String(error)).toBe(true);
    expect((error as StratigraphError).data).toMatchObject({
      threadId: id,
      namespace: "",
      channels: ["list"],
    });
    expect((error as StratigraphError).message).toMatch(/wasn't stored.*expired.*ttl/s);
    expect(await open().getTuple(config)).toBeUndefined();
    const { list } = await graphOf(open(), "DeltaChannel").invoke({ list: ["in2"] }, config);
    expect(list).toEqual(turn(2));
    expect((await graphOf(open(), "DeltaChannel").getState(config)).values).toEqual({ list: turn(2) });
  });

  test(`a thread is lost in mid-run, ${durability}: a plain channel's run goes on, and is stored whole`, async () => {
    const id = `plain-${durability}`;
    const config = { configurable: { thread_id: id }, durability };
    await graphOf(open(), "plain channel").invoke({ list: ["in0"] }, config);
    const running = graphOf(open(), "plain channel", () => lose(id)).invoke({ list: ["in1"] }, config);
    const whole = { list: [...turn(0), ...turn(1)] };
    expect(await running).toEqual(whole);
    expect((await graphOf(open(), "plain channel").getState(config)).values).toEqual(whole);
  });
}
