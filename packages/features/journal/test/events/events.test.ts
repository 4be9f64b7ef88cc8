import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { Annotation, END, START, StateGraph } from "@langchain/langgraph";
import { TierSaver } from "@stratigraph/core";
import { fork } from "@stratigraph/branch";
import { waitUntil } from "../../../../../test/servers/process.ts";
import { runChild } from "../../../../../test/servers/children.ts";
import { inRounds } from "../../../../../test/rounds.ts";
import { createJournal, events, VersionConflictError } from "../../src/index.ts";
import { booking, on } from "../support/booking.ts";
import { savers, type OpenedSaver } from "../support/places.ts";
import { account, type AppendOrders } from "./account.ts";

const script = join(import.meta.dirname, "appendChild.ts");

describe.each(savers)("events on %s", (name, open) => {
  let opened: OpenedSaver;
  beforeAll(async () => {
    opened = await open();
  });
  afterAll(() => opened?.close());

  it("hands out states that their callers may change, and takes nothing of what they did", async () => {
    const initial: { items: (string | number)[] } = { items: [] };
    const open = () =>
      events(
        opened.saver,
        (state: typeof initial, event: number) => {
          state.items.push(event);
          return state;
        },
        { initial, snapshotEvery: 2 },
      );
    const one = open();
    for (const event of [1, 2, 3]) {
      (await one.append("mine", event)).state.items.push("MINE");
      (await one.project("mine")).state.items.push("MINE");
      (await one.project("mine", { until: event })).state.items.push("MINE");
    }
    for (const store of [one, open()]) expect((await store.project("mine")).state.items).toEqual([1, 2, 3]);
    expect(initial).toEqual({ items: [] });
    expect((await one.project("another")).state).toEqual({ items: [] });
  });

  it("refuses another event under a key that was used", async () => {
    const store = events(opened.saver, (sum: number, { euros }: { euros: number }) => sum + euros, {
      initial: 0,
    });
    await store.append("keyed", { euros: 5 }, { key: "order 7" });
    expect(await store.append("keyed", { euros: 5 }, { key: "order 7" })).toMatchObject({ duplicate: true });
    await expect(store.append("keyed", { euros: 50 }, { key: "order 7" })).rejects.toMatchObject({
      code: "INVALID_OPTION",
      data: { field: "key" },
    });
    expect((await store.project("keyed")).state).toBe(5);
  });

  it("are folded, up to any version or moment, by whoever reads", async () => {
    const one = account(opened.saver);
    expect(await one.project("fold")).toEqual({
      state: { balance: 0, deposits: 0 },
      version: 0,
      at: undefined,
    });
    const times: Date[] = [];
    for (let n = 1; n <= 25; n += 1) {
      const { version, state, at } = await one.append("fold", { by: "ada", amount: n });
      expect([version, state.balance]).toEqual([n, (n * (n + 1)) / 2]);
      times.push(at);
      await waitUntil("another time", () => Date.now() > at.getTime(), { everyMs: 1 });
    }
    let folds = 0;
    const cold = account(opened.saver, () => void (folds += 1));
    expect(await cold.project("fold")).toMatchObject({ version: 25, state: { balance: 325, deposits: 25 } });
    // From the snapshot after 20.
    expect(folds).toBe(5);
    for (const until of [0, 1, 9, 10, 11, 24, 25, 1000]) {
      const version = Math.min(until, 25);
      const expected = { version, state: { balance: (version * (version + 1)) / 2, deposits: version } };
      expect(await cold.project("fold", { until })).toMatchObject(expected);
      const moment = version === 0 ? new Date(times[0]!.getTime() - 1) : times[version - 1]!;
      expect(await cold.project("fold", { until: moment })).toMatchObject(expected);
    }
    const read = [];
    for await (const { version, event } of cold.read("fold", { after: 3 }))
      read.push([version, event.amount]);
    expect(read).toEqual(Array.from({ length: 22 }, (_, n) => [n + 4, n + 4]));
  });

  it("are appended at the version that was seen, or not at all", async () => {
    const [one, other] = [account(opened.saver), account(opened.saver)];
    await one.appendIf("version", 0, { by: "ada", amount: 1 });
    await expect(other.appendIf("version", 0, { by: "bob", amount: 2 })).rejects.toThrow(
      VersionConflictError,
    );
    await other.appendIf("version", 1, { by: "bob", amount: 2 });
    const error: unknown = await one
      .appendIf("version", 1, { by: "ada", amount: 3 })
      .catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ code: "VERSION_CONFLICT", data: { expected: 1, version: 2 } });
    // What it remembers is old, and it notices.
    await other.append("version", { by: "bob", amount: 4 });
    await one.appendIf("version", 3, { by: "ada", amount: 5 });
    expect(await other.project("version")).toMatchObject({ version: 4, state: { balance: 12 } });
  });

  it("of one key are one: the second request gets the first answer", async () => {
    const [one, other] = [account(opened.saver), account(opened.saver)];
    const first = await one.append("keys", { by: "ada", amount: 1 }, { key: "request 1" });
    for (let n = 0; n < 12; n += 1) await one.append("keys", { by: "ada", amount: 1 });
    for (const again of [one, other]) {
      const answer = await again.append("keys", { by: "ada", amount: 1 }, { key: "request 1" });
      expect(answer).toEqual({ ...first, duplicate: true });
      // Also where the version isn't the one that the request was made for any more: it was answered.
      expect(await again.appendIf("keys", 0, { by: "ada", amount: 1 }, { key: "request 1" })).toEqual(answer);
    }
    expect((await other.project("keys")).version).toBe(13);
  });

  it("appended in one process at the same time are all there", async () => {
    const one = account(opened.saver);
    const appended = await Promise.all(
      Array.from({ length: 20 }, (_, n) =>
        one.append("turns", { by: "ada", amount: 1 }, { key: `k${n % 10}` }),
      ),
    );
    expect(appended.map(({ version }) => version)).toEqual(
      Array.from({ length: 20 }, (_, n) => (n % 10) + 1),
    );
    expect(appended.filter(({ duplicate }) => duplicate)).toHaveLength(10);
  });

  it("stay when checkpoints are pruned, are in no list, and aren't inherited by forks", async () => {
    const journal = createJournal(opened.saver);
    const graph = booking(opened.saver, journal, []);
    const one = account(opened.saver);
    await one.append("beside", { by: "ada", amount: 1 });
    const listed = async () => (await opened.saver.listThreads()).threads.map(({ threadId }) => threadId);
    expect(await listed()).not.toContain("beside");
    for (const item of ["flight", "hotel"]) {
      await graph.invoke({ item }, on("beside"));
      await one.append("beside", { by: "ada", amount: 1 });
    }
    await opened.saver.prune(["beside"], { strategy: "keep_latest" });
    const cold = account(opened.saver);
    expect(await cold.project("beside")).toMatchObject({ version: 3, state: { balance: 3 } });
    expect(await cold.project("beside", { until: 1 })).toMatchObject({ version: 1 });
    for await (const { config } of opened.saver.list(on("beside")))
      expect(config.configurable?.["checkpoint_ns"]).toBe("");
    await fork(opened.saver, "beside", { to: "beside, forked" });
    expect((await cold.project("beside, forked")).version).toBe(0);
    await opened.saver.deleteThread("beside");
    expect((await account(opened.saver).project("beside")).version).toBe(0);
    await journal.end();
  });

  it("that equal a value which the graph's state had, and that was pruned since, are stored whole", async () => {
    const State = Annotation.Root({ value: Annotation<unknown>() });
    const graph = new StateGraph(State)
      .addNode("keep", () => ({}))
      .addEdge(START, "keep")
      .addEdge("keep", END)
      .compile({ checkpointer: opened.saver });
    const event = Array.from({ length: 300 }, () => crypto.randomUUID());
    await graph.invoke({ value: { event } }, on("pruned"));
    await graph.invoke({ value: "something else" }, on("pruned"));
    const of = () => events<unknown[], unknown>(opened.saver, (all, one) => [...all, one], { initial: [] });
    const one = of();
    await one.append("pruned", "first");
    // Nobody told this saver that another one pruned.
    const other = new TierSaver(opened.saver.tier);
    await other.prune(["pruned"], { strategy: "keep_latest" });
    await one.append("pruned", event);
    await other.prune(["pruned"], { strategy: "keep_latest" });
    expect((await of().project("pruned")).state).toEqual(["first", event]);
  });

  it("are folded anew where the reducer's version changed", async () => {
    const of = (reducerVersion: string, factor: number) =>
      events<number, number>(opened.saver, (sum, event) => sum + factor * event, {
        initial: 0,
        snapshotEvery: 2,
        reducerVersion,
      });
    for (const amount of [1, 2, 3]) await of("1", 1).append("reducer", amount);
    expect((await of("1", 10).project("reducer")).state).toBe(3 + 30);
    expect((await of("2", 10).project("reducer")).state).toBe(60);
  });

  it("that can't be stored, and wrong calls, are refused and change nothing", async () => {
    const one = events<unknown[], unknown>(opened.saver, (all, event) => [...all, event], { initial: [] });
    await expect(one.append("refused", () => 1)).rejects.toMatchObject({ code: "SERIALIZATION" });
    await expect(one.appendIf("refused", -1, 1)).rejects.toMatchObject({ code: "INVALID_OPTION" });
    await expect(one.append("refused", 1, { kee: "k" } as object)).rejects.toMatchObject({
      code: "INVALID_OPTION",
    });
    await expect(one.project("refused", { until: Number.NaN })).rejects.toMatchObject({
      code: "INVALID_OPTION",
    });
    await expect(one.project("")).rejects.toMatchObject({ code: "INVALID_ADDRESS" });
    expect(() => events(opened.saver, (state) => state, { initial: 0, snapshotEvery: 0 })).toThrow(
      "snapshotEvery",
    );
    expect((await one.project("refused")).version).toBe(0);
  });

  it.skipIf(name === "memory" || name === "PGlite")(
    "of several processes are all there, once, and their versions have no gaps",
    { timeout: 120_000 },
    async () => {
      const [processes, own, shared] = [3, inRounds({ few: 10, all: 20, soak: 60 }), 8];
      const children = Array.from({ length: processes }, (_, n) => {
        const orders: AppendOrders = { place: opened.place!, thread: "race", name: `p${n}`, own, shared };
        return runChild<[string, number, boolean][]>(script, [JSON.stringify(orders)]);
      });
      const answers: [string, number, boolean][] = [];
      for (const child of children) {
        expect(await child.exit).toMatchObject({ code: 0, stderr: "" });
        answers.push(...child.messages[0]!);
      }
      const expected = processes * own * 2 + shared;
      const all = account(opened.saver);
      expect(await all.project("race")).toMatchObject({
        version: expected,
        state: { balance: expected, deposits: expected },
      });
      const versions = [];
      for await (const { version } of all.read("race")) versions.push(version);
      expect(versions).toEqual(Array.from({ length: expected }, (_, n) => n + 1));
      // Each version was given to one append, and each key has one version.
      const given = answers.filter(([, , duplicate]) => !duplicate).map(([, version]) => version);
      expect(given.toSorted((a, b) => a - b)).toEqual(versions);
      for (let n = 0; n < shared; n += 1) {
        const same = answers.filter(([key]) => key === `shared ${n}`);
        expect(same).toHaveLength(processes);
        expect(new Set(same.map(([, version]) => version)).size).toBe(1);
      }
    },
  );
});
