import { Annotation, Command, START, StateGraph } from "@langchain/langgraph";
import { emptyCheckpoint, uuid6 } from "@langchain/langgraph-checkpoint";
import type { TierSaver } from "@stratigraph/core";
import { createJournal } from "@stratigraph/journal";
import { operations, runOperation } from "@stratigraph/cli/operations";
import { postgres } from "@stratigraph/postgres";
import { redis } from "@stratigraph/redis";
import { TieredSaver, type TieredSaverOptions } from "@stratigraph/tiered";
import type { Telemetry } from "../../../src/index.ts";
import { startRedis } from "../../../../../../test/servers/redis.ts";
import { freshDatabase } from "../../../../../../test/servers/shared.ts";
import { freePort } from "../../../../../../test/servers/process.ts";
import { testContext } from "../../../../cli/test/operations/support/testContext.ts";
import { agent } from "../support.ts";

/** Savers on real servers, with work and with all that a metric counts. */
export interface Troubles {
  readonly saver: TierSaver;
  /** Runs, hits, a conflict, a tool's call, maintenance, stats, verify, and a primary that is away. */
  work(): Promise<void>;
  killRedis(): Promise<void>;
  /** Runs that no hot tier helps, and copies that are given up. */
  workWithoutRedis(): Promise<void>;
  close(): Promise<void>;
}

export async function openTroubles(telemetry: Telemetry): Promise<Troubles> {
  const [database, server, nobody] = await Promise.all([freshDatabase(), startRedis(), freePort()]);
  const savers: TieredSaver[] = [];
  const open = (options: Partial<TieredSaverOptions> = {}): TieredSaver => {
    const saver = new TieredSaver({
      hot: redis({ url: server.url, ttl: "5m" }),
      warm: postgres({ url: database.url }),
      ...options,
    });
    savers.push(saver);
    return saver;
  };
  const saver = open({ keepLast: 1 });
  await saver.setup();
  const away = postgres({ url: `postgresql://postgres@127.0.0.1:${nobody}/away`, retryFor: "200ms" });
  const replicated = open({
    hot: undefined,
    warm: away,
    replicas: [postgres({ url: database.url, retryFor: "200ms" })],
  });
  const journal = createJournal(saver);
  const shop = new StateGraph(Annotation.Root({ order: Annotation<string>, receipt: Annotation<string> }))
    .addNode("sell", async ({ order }, config) => ({
      receipt: await journal.run(config, { id: "charge", args: { order } }, () => {
        if (order === "plums") throw new Error("the line was cut");
        return `receipt for ${order}`;
      }),
    }))
    .addEdge(START, "sell")
    .compile({ checkpointer: saver });
  let threads = 0;
  const unreached = `redis://127.0.0.1:${nobody}`;

  const converse = async (): Promise<string> => {
    threads += 1;
    const config = {
      configurable: { thread_id: `thread ${threads}` },
      callbacks: [telemetry.callbacks("support")],
    };
    await agent(saver).invoke({ text: "hello" }, config);
    await agent(saver).invoke(new Command({ resume: "yes" }), config);
    await agent(saver)
      .invoke({ text: "fail" }, config)
      .catch(() => undefined);
    return config.configurable.thread_id;
  };
  const conflict = async (): Promise<void> => {
    const writer = (): TieredSaver =>
      open({
        conflict: "branch",
        onConflict: () => {
          throw new Error("the hook fails");
        },
      });
    threads += 1;
    const put = async (by: TierSaver, parent?: string) =>
      await by.put(
        {
          configurable: {
            thread_id: `contended ${threads}`,
            checkpoint_ns: "",
            ...(parent === undefined ? {} : { checkpoint_id: parent }),
          },
        },
        { ...emptyCheckpoint(), id: uuid6(1) },
        { source: "loop", step: 1, parents: {} },
        {},
      );
    const { configurable } = await put(writer());
    const first = String(configurable!["checkpoint_id"]);
    // The first of them wins.
    for (let n = 0; n < 8; n += 1) await put(writer(), first);
  };
  const operate = async (name: string): Promise<void> => {
    const found = operations.find((operation) => operation.name === name)!;
    await runOperation(found, {}, testContext(open()));
  };

  const close = async (): Promise<void> => {
    await journal.end();
    await Promise.allSettled(savers.map((each) => each.end()));
    await server.stop();
    await database.drop();
  };
  return {
    saver,
    work: async () => {
      const thread = await converse();
      await (saver.tier as unknown as { idle(): Promise<void> }).idle();
      for (let n = 0; n < 3; n += 1) await open().getTuple({ configurable: { thread_id: thread } });
      await saver.cache().get([[["docs"], thread]]);
      await conflict();
      threads += 1;
      await shop.invoke({ order: "apples" }, { configurable: { thread_id: `order ${threads}` } });
      // Whether it happened isn't known, also when the run is started again.
      const cut = { configurable: { thread_id: `cut ${threads}` } };
      await shop.invoke({ order: "plums" }, cut).catch(() => undefined);
      await shop.invoke(null, cut).catch(() => undefined);
      await operate("stats");
      await operate("verify");
      await saver.maintain();
      for await (const tuple of replicated.list({ configurable: { thread_id: thread } })) void tuple;
      await replicated.getTuple({ configurable: { thread_id: thread } }).catch(() => undefined);
      await open({ hot: redis({ url: unreached, ttl: "5m" }) }).setup();
    },
    killRedis: async () => await server.kill(),
    workWithoutRedis: async () => {
      for (let n = 0; n < 3; n += 1) await converse();
      // Given-up copies are told once a second.
      await new Promise((resolve) => setTimeout(resolve, 1100));
      await converse();
    },
    close,
  };
}
