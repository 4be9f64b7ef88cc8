import { AIMessage } from "@langchain/core/messages";
import { END, MessagesAnnotation, START, StateGraph } from "@langchain/langgraph";
import { fork, forkMany } from "@stratigraph/branch";
import { TierSaver } from "@stratigraph/core";
import { pack } from "@stratigraph/core/internal";
import { postgres } from "@stratigraph/postgres";
import { FaultyTier } from "@stratigraph/testing";
import pg from "pg";
import { freshDatabase } from "../../../../test/servers/shared.ts";
import { human, on } from "./support/graphs.ts";

/** Words that a compressor can't guess, the same in every run. */
function writer(): (count: number) => string {
  let seed = 1;
  const word = (): string => {
    seed = (seed * 48_271) % 2_147_483_647;
    return seed.toString(36);
  };
  return (count) => Array.from({ length: count }, word).join(" ");
}

describe("a thread of 1,000 checkpoints and 1 MB on PostgreSQL", () => {
  const words = writer();
  const graphOf = (checkpointer: TierSaver) =>
    new StateGraph(MessagesAnnotation)
      .addNode("answer", () => ({ messages: [new AIMessage(words(200))] }))
      .addEdge(START, "answer")
      .addEdge("answer", END)
      .compile({ checkpointer });
  let close: () => Promise<void>;
  let saver: TierSaver;
  let tier: FaultyTier;
  let sockets: Set<{ bytesRead: number; bytesWritten: number }>;
  const wire = (): number =>
    [...sockets].reduce((sum, { bytesRead, bytesWritten }) => sum + bytesRead + bytesWritten, 0);

  beforeAll(async () => {
    const database = await freshDatabase();
    const pool = new pg.Pool({ connectionString: database.url, max: 4 });
    sockets = new Set();
    pool.on("connect", (client) =>
      sockets.add(
        (client as unknown as { connection: { stream: { bytesRead: number; bytesWritten: number } } })
          .connection.stream,
      ),
    );
    tier = new FaultyTier(postgres({ pool }));
    saver = new TierSaver(tier);
    await saver.setup();
    for (let turn = 0; turn < 334; turn += 1)
      await graphOf(saver).invoke({ messages: [human(words(200))] }, on("long"));
    close = async () => {
      await pool.end();
      await database.drop();
    };
  }, 240_000);
  afterAll(() => close());

  test("a hundred forks, each one statement that moves no value, stand alone with its state", async () => {
    const { values } = await graphOf(saver).getState(on("long"));
    expect(Buffer.byteLength(JSON.stringify(values))).toBeGreaterThan(1_000_000);
    tier.reset();
    const before = wire();
    const forks = [];
    for (let n = 0; n < 50; n += 1) forks.push(await fork(saver, { threadId: "long" }));
    forks.push(...(await forkMany(saver, { threadId: "long" }, 50)));
    expect(tier.count("forkThread")).toBe(100);
    // Where the thread stands and where it comes from, once per call.
    expect(
      tier.calls
        .filter(({ method }) => method !== "forkThread")
        .map(({ method }) => method)
        .sort(),
    ).toEqual([...Array<string>(51).fill("outline"), ...Array<string>(51).fill("read")]);
    expect((wire() - before) / 100).toBeLessThan(10_000);

    const [, state] = await saver.serde.dumpsTyped(values.messages);
    const whole = (await pack(state)).length;
    for (const { checkpoints, bytes } of forks) {
      expect(checkpoints).toBe(1);
      expect(bytes).toBeLessThan(1.5 * whole);
    }
    await saver.copyThread("long", "kept");
    await saver.deleteThread("long");
    for (const { config, threadId } of [forks[0]!, forks[99]!]) {
      expect((await graphOf(saver).getState(config)).values).toEqual(values);
      await graphOf(saver).invoke({ messages: [human("on")] }, on(threadId));
      expect((await graphOf(saver).getState(config)).values.messages).toHaveLength(670);
    }
  });

  test("forks from anywhere have the state of there; one with all ancestors has them all", async () => {
    const ids: string[] = [];
    for await (const { record } of tier.list({ threadId: "kept", recordsOnly: true }))
      ids.push(record.checkpointId);
    expect(ids).toHaveLength(1002);
    for (const place of [1, 170, 500, 900, 1001]) {
      const checkpointId = ids[place]!;
      const made = await fork(saver, { threadId: "kept", checkpointId });
      const { values } = await graphOf(saver).getState(on("kept", checkpointId));
      expect((await graphOf(saver).getState(made.config)).values).toEqual(values);
    }
    const full = await fork(saver, { threadId: "kept" }, { history: "full" });
    expect(full.checkpoints).toBe(1002);
    const [one, other] = [[], []] as [unknown[], unknown[]];
    for await (const { metadata, values } of graphOf(saver).getStateHistory(full.config, { limit: 10 }))
      one.push([metadata?.step, values]);
    for await (const { metadata, values } of graphOf(saver).getStateHistory(on("kept"), { limit: 10 }))
      other.push([metadata?.step, values]);
    expect(one).toEqual(other);
  });
});
