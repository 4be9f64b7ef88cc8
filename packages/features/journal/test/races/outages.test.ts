import { StratigraphError } from "@stratigraph/core";
import { PostgresSaver } from "@stratigraph/postgres";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { startDeafProxy, type DeafProxy } from "../../../../engine/postgres/test/support/deafProxy.ts";
import { freshDatabase } from "../../../../../test/servers/shared.ts";
import { tracedWhile } from "../../../../../test/tracedWhile.ts";
import { createJournal } from "../../src/index.ts";
import { begins, payingGraph } from "./payingGraph.ts";

// The wire to the database is cut at one moment of a call, and is there again later.

let database: Awaited<ReturnType<typeof freshDatabase>>;
let proxy: DeafProxy;
const open: PostgresSaver[] = [];
const config = { configurable: { thread_id: "t" } };
const call = { id: "pay 5", tool: "pay", args: { amount: 5 } };
let paid: number[];

function saver(url: string): PostgresSaver {
  const made = PostgresSaver.fromConnString(url, { retryFor: "1s", statementTimeout: "1s" });
  open.push(made);
  return made;
}

beforeEach(async () => {
  paid = [];
  database = await freshDatabase();
  proxy = await startDeafProxy(database.url);
  await saver(database.url).setup();
});

afterEach(async () => {
  proxy.restore("lost");
  await Promise.all(open.splice(0).map((one) => one.end()));
  await proxy.stop();
  await database.drop();
});

function pay(): string {
  paid.push(5);
  return "receipt 5";
}

describe("a database that is away", () => {
  it("when a call is recorded: its result is returned, the claim stays, and nobody repeats the call unasked", async () => {
    const journal = createJournal(saver(proxy.url));
    const traced = await tracedWhile(async () => {
      const result = await journal.run(config, call, () => {
        proxy.silence();
        return pay();
      });
      expect(result).toBe("receipt 5");
    });
    expect(traced).toContainEqual(expect.objectContaining({ type: "tool-call", outcome: "unrecorded" }));
    proxy.restore("lost");
    // Neither this process, which did it, nor another one, which can't know, makes it again.
    const others = createJournal(saver(database.url), { waitFor: "5s" });
    for (const again of [journal, others])
      await expect(again.run(config, call, pay)).rejects.toMatchObject({ code: "AMBIGUOUS_OUTCOME" });
    expect(paid).toEqual([5]);
    const asked = { ...call, reconcile: () => ({ happened: true, result: "receipt by phone" }) as const };
    expect(await journal.run(config, asked, pay)).toBe("receipt by phone");
    expect(await others.run(config, call, pay)).toBe("receipt by phone");
    expect(paid).toEqual([5]);
    expect(await others.verify("t")).toMatchObject({ ok: true });
  });

  it("when a call is claimed: nothing runs, with a code that says so; later it runs once", async () => {
    const journal = createJournal(saver(proxy.url));
    await journal.run(config, { id: "pay 1", tool: "pay", args: { amount: 1 } }, () => undefined);
    proxy.silence();
    await expect(journal.run(config, call, pay)).rejects.toSatisfy((error) =>
      StratigraphError.is(error, "UNAVAILABLE"),
    );
    expect(paid).toEqual([]);
    proxy.restore("lost");
    expect(await journal.run(config, call, pay)).toBe("receipt 5");
    expect(await journal.run(config, call, pay)).toBe("receipt 5");
    expect(paid).toEqual([5]);
  });

  it("whose acknowledgement of a claim is lost: the call runs once", async () => {
    const journal = createJournal(saver(proxy.url));
    await journal.run(config, { id: "pay 1", tool: "pay", args: { amount: 1 } }, () => undefined);
    proxy.loseAnswers(1);
    expect(await journal.run(config, call, pay)).toBe("receipt 5");
    expect(proxy.lost()).toBe(1);
    expect(paid).toEqual([5]);
    expect(await journal.verify("t")).toMatchObject({ ok: true });
  });

  it("whose acknowledgement of a record is lost: it is recorded once", async () => {
    const journal = createJournal(saver(proxy.url));
    await journal.run(config, call, () => {
      proxy.loseAnswers(1);
      return pay();
    });
    expect(proxy.lost()).toBe(1);
    expect(await createJournal(saver(database.url)).run(config, call, pay)).toBe("receipt 5");
    expect(paid).toEqual([5]);
    expect(await journal.verify("t")).toMatchObject({ ok: true });
  });
});

describe("durability", () => {
  it('"async" on a slow storage: no tool starts before the checkpoint with its call is stored', async () => {
    const slow = saver(database.url);
    const { append } = slow.tier;
    const stored = new Set<string>();
    slow.tier.append = async (request) => {
      const isCheckpoint = request.records.some(({ namespace }) => namespace === "");
      if (isCheckpoint) await new Promise((resolve) => setTimeout(resolve, 300));
      const appended = await append.call(slow.tier, request);
      for (const { checkpointId } of request.records) stored.add(checkpointId);
      return appended;
    };
    const journal = createJournal(slow);
    const { graph } = payingGraph(journal, slow, async (amount) => {
      paid.push(amount);
      // What another process would find if this one were killed now: the message that asks for this very call.
      const { messages } = (await payingGraph(createJournal(reader), reader, pending).graph.getState(config))
        .values as { messages: { tool_calls?: { args: unknown }[] }[] };
      expect(messages.at(-1)!.tool_calls![0]!.args).toEqual({ amount });
      return `receipt ${amount}`;
    });
    const reader = saver(database.url);
    const { messages } = await graph.invoke(begins, { ...config, durability: "async" });
    expect(messages.map(({ content }) => content)).toEqual(["pay", "", "receipt 5", "", "receipt 6", "done"]);
    expect(paid).toEqual([5, 6]);
  });

  it('"exit": no tool that acts is run', async () => {
    const one = saver(database.url);
    const journal = createJournal(one);
    const { graph } = payingGraph(journal, one, async () => pay());
    // The model is told of errors of tools; plain code throws them.
    const { messages } = await graph.invoke(begins, { ...config, durability: "exit" });
    for (const at of [2, 4]) expect(messages[at]!.content).toMatch(/may not run: .* durability "exit"/);
    expect(paid).toEqual([]);
  });
});

function pending(): Promise<string> {
  return Promise.reject(new Error("it only reads"));
}
