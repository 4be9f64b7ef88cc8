import { Annotation, DeltaChannel, START, StateGraph } from "@langchain/langgraph";
import { fork } from "@stratigraph/branch";
import { TierSaver } from "@stratigraph/core";
import { postgres, type PostgresTier } from "@stratigraph/postgres";
import { onTestFinished } from "vitest";
import { freshDatabase } from "../../../../test/servers/shared.ts";
import { on } from "./support/graphs.ts";

test("a thread that is deleted while it is forked isn't forked: its line of DeltaChannels isn't there any more", async () => {
  const { url, drop } = await freshDatabase();
  const tier: PostgresTier = postgres({ url });
  const saver = new TierSaver(tier);
  onTestFinished(async () => {
    await saver.end();
    await drop();
  });
  await saver.setup();
  const append = (list: string[], more: string[][]): string[] => [...list, ...more.flat()];
  const list = () => new DeltaChannel<string[], string[]>(append, { snapshotFrequency: 1000 });
  const graph = new StateGraph(Annotation.Root({ list }))
    .addNode("one", () => ({ list: ["one"] }))
    .addEdge(START, "one")
    .compile({ checkpointer: saver });
  await graph.invoke({ list: ["a"] }, on("t"));
  const forkThread = tier.forkThread.bind(tier);
  tier.forkThread = async (request) => {
    await new TierSaver(tier).deleteThread("t");
    return await forkThread(request);
  };
  await expect(fork(saver, "t", { to: "f" })).rejects.toMatchObject({ code: "NOT_FOUND" });
  expect(await saver.getTuple(on("f"))).toBeUndefined();
  for await (const { threadId } of tier.threads({})) expect(threadId).not.toBe("f");
});
