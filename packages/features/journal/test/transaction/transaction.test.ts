import { applyMerge } from "@stratigraph/branch";
import { describe, expect, it } from "vitest";
import {
  RolledBackError,
  transaction,
  TransactionConflictError,
  transactions,
  type Journal,
} from "../../src/index.ts";
import { booking, on, type World } from "../support/booking.ts";
import { savers, type OpenedSaver } from "../support/places.ts";
import { journalOn } from "../support/journalOn.ts";

describe.each(savers)("a transaction on %s", (_name, open) => {
  let opened: OpenedSaver;
  let journal: Journal;
  let thread: string;
  let count = 0;

  journalOn(open, (...on) => ([opened, journal] = on));

  /** A thread that has booked a flight, and what the world saw since. */
  async function begun(options?: Parameters<typeof booking>[3]) {
    const world: World = [];
    const graph = booking(opened.saver, journal, world, options);
    thread = `ada ${(count += 1)}`;
    await graph.invoke({ item: "flight" }, on(thread));
    world.length = 0;
    const booked = async (): Promise<string[]> =>
      (await graph.getState(on(thread))).values.booked as string[];
    const threads = async (): Promise<string[]> =>
      (await transactions(opened.saver, thread)).map(({ threadId }) => threadId);
    return { world, graph, booked, threads };
  }

  it("is committed as a whole, and isn't seen before", async () => {
    const { world, graph, booked, threads } = await begun();
    const result = await transaction(
      opened.saver,
      thread,
      async (tx) => {
        await graph.invoke({ item: "hotel" }, tx.config);
        const { values } = await graph.getState(tx.config);
        expect(await booked()).toEqual(["receipt of flight"]);
        expect(values.booked).toEqual(["receipt of flight", "receipt of hotel"]);
        await graph.invoke({ item: "car" }, tx.config);
        return "done";
      },
      { journal },
    );
    expect(result).toEqual({ value: "done", status: "fast-forward", attempts: 1, undone: [] });
    expect(await booked()).toEqual(["receipt of flight", "receipt of hotel", "receipt of car"]);
    expect(world).toEqual(["book hotel", "book car"]);
    expect(await threads()).toEqual([]);
    // The thread goes on from there.
    await graph.invoke({ item: "taxi" }, on(thread));
    expect((await booked()).at(-1)).toBe("receipt of taxi");
  });

  it("is rolled back where the work throws: calls are undone, the last one first, and may be made anew", async () => {
    const { world, graph, booked, threads } = await begun();
    const work = (fails: boolean) =>
      transaction(
        opened.saver,
        thread,
        async (tx) => {
          await graph.invoke({ item: "hotel" }, tx.config);
          await graph.invoke({ item: "car" }, tx.config);
          if (fails) throw new TypeError("no seat left");
        },
        { journal },
      );
    const error: unknown = await work(true).catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(RolledBackError);
    expect((error as RolledBackError).cause).toBeInstanceOf(TypeError);
    expect((error as RolledBackError).report).toMatchObject({
      undone: [
        { tool: "book", args: { item: "car" } },
        { tool: "book", args: { item: "hotel" } },
      ],
      kept: [],
    });
    expect(world).toEqual([
      "book hotel",
      "book car",
      "cancel car (receipt of car)",
      "cancel hotel (receipt of hotel)",
    ]);
    expect(await booked()).toEqual(["receipt of flight"]);
    expect(await threads()).toEqual([]);
    world.length = 0;
    await work(false);
    expect(world).toEqual(["book hotel", "book car"]);
    expect(await booked()).toEqual(["receipt of flight", "receipt of hotel", "receipt of car"]);
  });

  it("says what it didn't undo, and undoes the rest", async () => {
    const { world, graph } = await begun((item) => {
      if (item === "insurance") return { compensate: undefined, tool: "insure" } as object;
      if (item !== "hotel") return {};
      const compensate = () => {
        throw new Error("the hotel doesn't answer");
      };
      return { tool: "reserve", compensate } as object;
    });
    const error: unknown = await transaction(
      opened.saver,
      thread,
      async (tx) => {
        for (const item of ["car", "hotel", "insurance"]) await graph.invoke({ item }, tx.config);
        throw new Error("stop");
      },
      { journal },
    ).catch((thrown: unknown) => thrown);
    expect((error as RolledBackError).report).toMatchObject({
      undone: [{ args: { item: "car" } }],
      kept: [
        { tool: "insure", why: "no compensation" },
        { tool: "reserve", why: "compensation failed", error: { message: "the hotel doesn't answer" } },
      ],
    });
    expect((error as Error).message).toContain("insure (no compensation), reserve (compensation failed)");
    expect(world.at(-1)).toBe("cancel car (receipt of car)");
    // What is left can be tried again: nobody knows whether the compensation that failed had happened, so it isn't repeated.
    const [left] = await transactions(opened.saver, thread, { journal });
    expect(await left!.status()).toEqual({ status: "rolling back", alive: false });
    await expect(left!.commit()).rejects.toMatchObject({ code: "TRANSACTION_ENDED" });
    expect(await left!.rollback()).toMatchObject({
      undone: [],
      kept: [
        { tool: "insure" },
        { tool: "reserve", why: "compensation failed", error: { name: "AmbiguousOutcomeError" } },
      ],
    });
  });

  it("meets a thread that went on: throws and is rolled back, or runs again, or is merged", async () => {
    const { world, graph, booked, threads } = await begun();
    const meeting = (onConflict: "throw" | "retry" | "merge", attempts?: number) => {
      let met = false;
      return transaction(
        opened.saver,
        thread,
        async (tx) => {
          await graph.invoke({ item: `${onConflict} hotel` }, tx.config);
          if (!met || attempts === 1) await graph.invoke({ item: `${onConflict} meanwhile` }, on(thread));
          met = true;
          return tx.attempt;
        },
        { journal, onConflict, attempts, graph, strategy: { item: "theirs", booked: "reducer" } },
      );
    };
    const error: unknown = await meeting("throw").catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(TransactionConflictError);
    expect((error as TransactionConflictError).report?.undone).toHaveLength(1);
    expect(world).toEqual([
      "book throw hotel",
      "book throw meanwhile",
      "cancel throw hotel (receipt of throw hotel)",
    ]);
    expect(await booked()).toEqual(["receipt of flight", "receipt of throw meanwhile"]);

    world.length = 0;
    const retried = await meeting("retry");
    expect(retried).toMatchObject({ value: 2, attempts: 2, undone: [{ args: { item: "retry hotel" } }] });
    expect((await booked()).slice(2)).toEqual(["receipt of retry meanwhile", "receipt of retry hotel"]);
    expect(world.filter((line) => line === "book retry hotel")).toHaveLength(2);
    expect(world.filter((line) => line.startsWith("cancel"))).toHaveLength(1);
    await expect(meeting("retry", 1)).rejects.toThrow(TransactionConflictError);

    const before = await booked();
    expect(await meeting("merge")).toMatchObject({ status: "merged", attempts: 1 });
    expect((await booked()).slice(before.length).toSorted()).toEqual([
      "receipt of merge hotel",
      "receipt of merge meanwhile",
    ]);
    expect(await threads()).toEqual([]);
  });

  it("stays open where a merge needs answers, and is committed with them", async () => {
    const { world, graph, booked, threads } = await begun();
    const error: unknown = await transaction(
      opened.saver,
      thread,
      async (tx) => {
        await graph.invoke({ item: "hotel" }, tx.config);
        await graph.invoke({ item: "meanwhile" }, on(thread));
      },
      { journal, onConflict: "merge", graph, strategy: { booked: "reducer" } },
    ).catch((thrown: unknown) => thrown);
    const { plan } = error as TransactionConflictError;
    expect(plan?.channels).toMatchObject([{ name: "item", ours: "meanwhile", theirs: "hotel" }]);
    const [open] = await transactions(opened.saver, thread, { journal });
    expect(await open!.status()).toEqual({ status: "open", alive: false });
    await applyMerge(graph, plan!, { item: "theirs" }, { strategy: { booked: "reducer" } });
    expect(await open!.commit()).toBe("unchanged");
    expect((await booked()).toSorted()).toEqual([
      "receipt of flight",
      "receipt of hotel",
      "receipt of meanwhile",
    ]);
    expect(world).toEqual(["book hotel", "book meanwhile"]);
    expect(await threads()).toEqual([]);
  });

  it("isn't run again where a call of the first attempt can't be undone", async () => {
    const { world, graph } = await begun(() => ({ compensate: undefined, tool: "sell" }) as object);
    await expect(
      transaction(
        opened.saver,
        thread,
        async (tx) => {
          await graph.invoke({ item: "hotel" }, tx.config);
          await graph.invoke({ item: "meanwhile" }, on(thread));
        },
        { journal, onConflict: "retry" },
      ),
    ).rejects.toMatchObject({ report: { kept: [{ tool: "sell", why: "no compensation" }] } });
    expect(world).toEqual(["book hotel", "book meanwhile"]);
  });

  it("returns to a savepoint, more than once, and goes on from there", async () => {
    const { world, graph, booked } = await begun();
    await transaction(
      opened.saver,
      thread,
      async (tx) => {
        await graph.invoke({ item: "hotel" }, tx.config);
        const point = await tx.savepoint();
        for (const item of ["car", "bike"]) {
          await graph.invoke({ item }, tx.config);
          const { undone } = await point.rollback();
          expect(undone).toMatchObject([{ args: { item } }]);
          expect((await graph.getState(tx.config)).values.booked).toEqual([
            "receipt of flight",
            "receipt of hotel",
          ]);
        }
        await graph.invoke({ item: "train" }, tx.config);
      },
      { journal },
    );
    expect(await booked()).toEqual(["receipt of flight", "receipt of hotel", "receipt of train"]);
    expect(world).toEqual([
      "book hotel",
      "book car",
      "cancel car (receipt of car)",
      "book bike",
      "cancel bike (receipt of bike)",
      "book train",
    ]);
  });

  it("isn't committed once it is rolled back, nor the other way round", async () => {
    const { graph, booked } = await begun();
    let other: Awaited<ReturnType<typeof transactions>>[number] | undefined;
    const error: unknown = await transaction(
      opened.saver,
      thread,
      async (tx) => {
        await graph.invoke({ item: "hotel" }, tx.config);
        [other] = await transactions(opened.saver, thread, { journal });
        expect(other?.threadId).toBe(tx.threadId);
        expect(await other!.status()).toEqual({ status: "open", alive: true });
        expect(await other!.calls()).toMatchObject([{ tool: "book", args: { item: "hotel" } }]);
        await other!.rollback();
      },
      { journal },
    ).catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ code: "TRANSACTION_ENDED" });
    expect(await booked()).toEqual(["receipt of flight"]);
    await transaction(
      opened.saver,
      thread,
      async (tx) => {
        await graph.invoke({ item: "car" }, tx.config);
        [other] = await transactions(opened.saver, thread, { journal });
      },
      { journal },
    );
    await expect(other!.rollback()).rejects.toMatchObject({ code: "TRANSACTION_ENDED" });
    expect(await booked()).toEqual(["receipt of flight", "receipt of car"]);
  });
});
