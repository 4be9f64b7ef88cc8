import { setImmediate as turn } from "node:timers/promises";
import { Annotation, END, START, StateGraph } from "@langchain/langgraph";
import type { TierSaver } from "@stratigraph/core";
import { PostgresSaver, postgres } from "@stratigraph/postgres";
import { RedisSaver, redis } from "@stratigraph/redis";
import { withThread } from "@stratigraph/service";
import { TieredSaver, boundedMemory } from "@stratigraph/tiered";

// One of several instances of a service that answer on the same thread. It does what it is told, and tells what it sees.

/** What an instance of the test is told. "stop": hold the thread, and leave when a run in it was stopped. */
export interface InstanceOrder {
  readonly n: number;
  readonly deed: "read" | "send" | "stop" | "end";
  readonly durability: "sync" | "async";
}

/** What the instance sees when it has done it. */
export interface InstanceMessage {
  readonly n: number;
  readonly checkpointId: string | undefined;
  readonly log: readonly string[];
}

const [kind, url, redisUrl, prefix] = process.argv.slice(2) as [string, string, string, string];

const savers: Record<string, () => TierSaver> = {
  postgres: () => PostgresSaver.fromConnString(url),
  redis: () => new RedisSaver({ url: redisUrl, prefix, ttl: "5m" }),
  "stack, verified": () =>
    new TieredSaver({
      hot: [boundedMemory(), redis({ url: redisUrl, prefix, ttl: "5m" })],
      warm: postgres({ url }),
    }),
  "stack, trusted": () =>
    new TieredSaver({
      hot: redis({ url: redisUrl, prefix, ttl: "5m" }),
      warm: postgres({ url }),
      consistency: "trusted",
    }),
};

const saver = savers[kind]!();

const State = Annotation.Root({
  log: Annotation<string[]>({ reducer: (a, b) => [...a, ...b], default: () => [] }),
});

const graph = new StateGraph(State)
  .addNode("model", ({ log }) => ({ log: [`re ${log.at(-1)!}`] }))
  .addNode("tools", async () => {
    for (let n = 0; n < 10; n += 1) await turn();
    return {};
  })
  .addEdge(START, "model")
  .addEdge("model", "tools")
  .addEdge("tools", END)
  .compile({ checkpointer: saver });

const config = { configurable: { thread_id: "t" } };

async function stop({ n, durability }: InstanceOrder): Promise<void> {
  await withThread(saver, "t", async () => {
    const stopping = new AbortController();
    const options = { ...config, durability, signal: stopping.signal, streamMode: "updates" as const };
    const stopped = (async () => {
      for await (const _ of await graph.stream({ log: [`${n}`] }, options)) stopping.abort();
    })();
    await stopped.catch(() => undefined);
    if (!stopping.signal.aborted) throw new Error("the run ended before it was stopped");
  });
}

const told = (message: InstanceMessage): void => void process.send!(message);

async function obey(order: InstanceOrder): Promise<void> {
  const { n, deed, durability } = order;
  if (deed === "end") {
    await saver.end();
    process.disconnect();
  } else if (deed === "stop") {
    await stop(order);
    told({ n, checkpointId: undefined, log: [] });
  } else if (deed === "send") {
    const { log } = await graph.invoke({ log: [`${n}`] }, { ...config, durability });
    told({ n, checkpointId: undefined, log });
  } else {
    const { config: at, values } = await graph.getState(config);
    const { log = [] } = values as { log?: string[] };
    told({ n, checkpointId: at.configurable!["checkpoint_id"] as string, log });
  }
}

process.on("message", (order) => void obey(order as InstanceOrder));
told({ n: -1, checkpointId: undefined, log: [] });
