import { fork } from "@stratigraph/branch";
import { postgres } from "@stratigraph/postgres";
import { TierSaver } from "@stratigraph/core";
import { FaultyTier } from "@stratigraph/testing";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { freshDatabase } from "../../../../../test/servers/shared.ts";
import { chat, deltaChat, human, on, textOf } from "../../../../features/branch/test/support/graphs.ts";
import { openStack } from "../../../../features/branch/test/support/stack.ts";
import { rendered, run } from "./support/run.ts";
import { testContext } from "./support/testContext.ts";
import { longThread, putValues } from "./support/threads.ts";

interface Page {
  readonly items: readonly {
    readonly checkpoint: string;
    readonly tiers: readonly string[];
    readonly bytes: number;
  }[];
  readonly missing: readonly string[];
  readonly cursor?: string;
}

describe("on PostgreSQL", { timeout: 120_000 }, () => {
  let database: Awaited<ReturnType<typeof freshDatabase>>;
  let saver: TierSaver;
  beforeAll(async () => {
    database = await freshDatabase();
    saver = new TierSaver(postgres({ url: database.url }));
    await saver.setup();
  });
  afterAll(async () => {
    await saver.end();
    await database.drop();
  });

  test("a page of 20,000 checkpoints takes as many statements as one of 200", async () => {
    const tier = new FaultyTier(saver.tier);
    const counted = new TierSaver(tier);
    const ids = await longThread(counted, "long", 20_000);
    await longThread(counted, "short", 200);
    const context = testContext(counted);
    const calls = async (thread: string): Promise<Record<string, number>> => {
      tier.reset();
      await run("history", { thread, limit: 20 }, context);
      return { list: tier.count("list"), blobs: tier.count("blobs"), read: tier.count("read") };
    };
    expect(await calls("long")).toEqual(await calls("short"));
    const page = await run<Page>("history", { thread: "long", limit: 20 }, context);
    expect(page.items.map(({ checkpoint }) => checkpoint)).toEqual(ids.slice(-20).toReversed());
    expect(page.items.every(({ bytes }) => bytes > 0)).toBe(true);
    tier.reset();
    expect(await run("blame", { at: "long", path: "title" }, context)).toMatchObject({
      changed: { checkpoint: ids[19_000] },
    });
    expect(tier.count("read")).toBeLessThan(5);
  });

  test("values of 12 MB, DeltaChannels and hostile ids", async () => {
    const evil = "e'\"\u001b[2J;--\u202e🙂";
    await putValues(saver, evil, { long: "y".repeat(12_000_000), [evil]: 1 });
    const context = testContext(saver);
    const shown = await run("show", { at: evil }, context);
    expect(JSON.stringify(shown).length).toBeLessThan(80_000);
    expect(await run("set", { at: evil, channel: evil, value: "2" }, context)).toMatchObject({
      after: { value: 2 },
    });
    expect(await run("diff", { from: evil }, context)).toMatchObject({
      channels: [{ name: evil, changes: [{ before: 1, after: 2 }] }],
    });
    expect(await run("blame", { at: evil, path: `[${JSON.stringify(evil)}]` }, context)).toMatchObject({
      changed: { source: "update" },
    });
    const graph = deltaChat(saver, 3);
    for (let n = 0; n < 4; n += 1) await graph.invoke({ messages: [human(`${n}`, `m${n}`)] }, on("d"));
    const { value } = (
      await run<{ channels: { channel: string; value: { kwargs: { content: string } }[] }[] }>(
        "show",
        { at: "d" },
        context,
      )
    ).channels.find(({ channel }) => channel === "messages")!;
    const values = (await graph.getState(on("d"))).values.messages;
    expect(value.map(({ kwargs }) => kwargs.content)).toEqual(textOf(values));
  });
});

describe("on redis>postgres>s3", { timeout: 120_000 }, () => {
  let stack: Awaited<ReturnType<typeof openStack>>;
  let one: Awaited<ReturnType<typeof stack.open>>;
  beforeAll(async () => {
    stack = await openStack();
    one = await stack.open();
  });
  afterAll(() => stack.close());

  test("tells which tiers hold a checkpoint, before and after archiving", async () => {
    const graph = chat(one.saver);
    for (let n = 0; n < 3; n += 1) await graph.invoke({ messages: [human(`${n}`)] }, on("ada"));
    await fork(one.saver, { threadId: "ada" }, { to: "ada/b" });
    const context = testContext(one.saver);
    const warm = await run<Page>("history", { thread: "ada" }, context);
    const rolesOf = (page: Page): Set<string> =>
      new Set(page.items.flatMap(({ tiers }) => tiers.map((tier) => tier.split(":")[0]!)));
    expect(warm.items.every(({ tiers }) => tiers.some((tier) => tier.startsWith("warm:")))).toBe(true);
    expect(rolesOf(warm).has("cold")).toBe(false);
    const before = await run("stats", { thread: "ada" }, context);
    await stack.archive(1);
    const cold = await run<Page>("history", { thread: "ada", limit: 4 }, context);
    expect([...rolesOf(cold)]).toEqual(["cold"]);
    const rest = await run<Page>("history", { thread: "ada", limit: 1000, cursor: cold.cursor }, context);
    expect([...cold.items, ...rest.items].map(({ checkpoint }) => checkpoint)).toEqual(
      warm.items.map(({ checkpoint }) => checkpoint),
    );
    const after = await run("stats", { thread: "ada" }, context);
    expect(after["checkpoints"]).toBe(before["checkpoints"]);
    expect(rendered("stats", after)).toMatch(/cold/);
    expect(await run("stats", {}, context)).toMatchObject({ threads: { failed: 0 } });
    const none = await run<{ threads: number; skipped: number }>("conflicts", {}, context);
    expect(none).toMatchObject({ items: [] });
    const all = await run<typeof none>("conflicts", { archived: true }, context);
    expect(all).toMatchObject({ threads: none.threads + none.skipped, skipped: 0 });
    expect(none.skipped).toBeGreaterThan(0);
    const still = await run<Page>("history", { thread: "ada" }, context);
    expect(rolesOf(still), "none of this brought the archived thread back").toEqual(new Set(["cold"]));
    const shown = await run("show", { at: "ada@head~2" }, context);
    expect(rendered("show", shown)).toContain('human "2"');
  });
});
