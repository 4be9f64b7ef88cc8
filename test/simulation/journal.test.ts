import { Annotation, END, START, StateGraph } from "@langchain/langgraph";
import { reservedNamespaces, type AppendRequest } from "@stratigraph/core/tier";
import { inRounds } from "../rounds.ts";
import { on } from "../../packages/features/branch/test/support/graphs.ts";
import { gate } from "../../packages/engine/core/test/contract/support.ts";
import { Bank, loadProgram, type Payer, type Program } from "./bank.ts";
import { explore, simulate } from "./simulate.ts";
import { warmUp } from "./site.ts";
import type { WireCall } from "./wireCall.ts";
import type { Held, World } from "./world.ts";

let programs: [Program, Program, Program];
beforeAll(async () => {
  await warmUp();
  programs = [await loadProgram(), await loadProgram(), await loadProgram()];
});

const didNotHappen = () => ({ happened: false }) as const;

/** Keeps a process's next append to the journal from going on by itself. */
function holdAppend(world: World, { process }: Payer): Held {
  const when = ({ args: [request] }: WireCall): boolean =>
    (request as AppendRequest).heads.some(({ namespace }) => namespace === reservedNamespaces.calls);
  return world.hold("append", { from: process, when });
}

function payers(world: World) {
  const bank = new Bank(world);
  const [a, b, c] = ["a", "b", "c"].map((name, n) => bank.payer(name, programs[n]!));
  return { bank, a: a!, b: b!, c: c! };
}

async function entriesOf({ journal }: Payer): Promise<string[]> {
  const types: string[] = [];
  for await (const { event } of journal.trail("t")) types.push(event.type);
  return types.filter((type) => type !== "session" && type !== "returned");
}

const paidBy = ({ paid }: Bank): string[] => paid.map(({ by }) => by);

describe("a thread that was deleted meanwhile", () => {
  test("and begun anew: another call's record isn't taken for the result", async () => {
    await simulate(async (world) => {
      const { bank, a, b } = payers(world);
      await a.pay("rent");
      await b.saver.deleteThread("t");
      await b.pay("taxes");
      expect(await a.pay("rent")).toBe("receipt");
      expect(bank.paid.map(({ payment }) => payment)).toEqual(["rent", "taxes", "rent"]);
      expect(await a.journal.verify("t")).toMatchObject({ ok: true });
    });
  });

  test.each(["deleted", "deleted and begun anew"])(
    "%s when a run is about to claim its first call: it makes none, and leaves nothing",
    async (how) => {
      await simulate(async (world) => {
        const { bank, a, b } = payers(world);
        const graph = new StateGraph(Annotation.Root({ done: Annotation<string> }))
          .addNode("node", async (_state, config) => ({
            done: await a.journal.run(config, { id: "pay", args: {} }, async () => await a.ask("late")),
          }))
          .addEdge(START, "node")
          .addEdge("node", END)
          .compile({ checkpointer: a.saver });
        const held = holdAppend(world, a);
        const running = a.process.run(() => graph.invoke({ done: "" }, on("t")));
        await held.reached;
        await b.saver.deleteThread("t");
        const isNew = how !== "deleted";
        if (isNew) await b.pay();
        await held.release();
        await expect(running).rejects.toMatchObject({ code: "THREAD_DELETED" });
        expect(paidBy(bank)).toEqual(isNew ? ["b"] : []);
        expect(await entriesOf(b)).toEqual(isNew ? ["claimed", "succeeded"] : []);
      });
    },
  );
});

describe("a process that sleeps for longer than its lease, and is taken over", () => {
  test("between its claim and its call: makes no call when it wakes", async () => {
    await simulate(async (world) => {
      const { bank, a, b } = payers(world);
      const held = holdAppend(world, a);
      const first = a.pay();
      await held.arrive();
      a.process.suspend();
      expect(await b.pay("rent", didNotHappen)).toBe("receipt");
      a.process.resume();
      await held.release();
      expect(await first).toBe("receipt");
      expect(paidBy(bank)).toEqual(["b"]);
      expect(await entriesOf(b)).toEqual(["claimed", "resolved", "claimed", "succeeded"]);
    });
  });

  test.each([
    ["records late what it did", undefined, ["b", "a"]],
    ["records late that it failed", new Error("the line was cut"), ["b"]],
  ])("in its call: %s", async (_what, error, by) => {
    await simulate(async (world) => {
      const { bank, a, b, c } = payers(world);
      const held = world.hold("pay", { from: a.process });
      const first = Promise.allSettled([a.pay()]);
      await held.reached;
      a.process.suspend();
      await b.pay("rent", didNotHappen);
      a.process.resume();
      await (error === undefined ? held.release() : held.fail(error));
      expect((await first)[0].status).toBe(error === undefined ? "fulfilled" : "rejected");
      expect(await c.pay()).toBe("receipt");
      expect(paidBy(bank)).toEqual(by);
      expect(await entriesOf(b)).toEqual(["claimed", "resolved", "claimed", "succeeded", "late"]);
    });
  });

  test("whose lease was slow to answer: it knows that it has less of it left", async () => {
    await simulate(async (world) => {
      const { bank, a, b } = payers(world);
      const lease = world.hold("lease", { from: a.process });
      const claim = holdAppend(world, a);
      const first = a.pay();
      await lease.arrive();
      await world.pass(25_000);
      await lease.release();
      await claim.arrive();
      await world.pass(6000);
      await b.pay("rent", didNotHappen);
      await world.pass(5000);
      await claim.release();
      expect(await first).toBe("receipt");
      expect(paidBy(bank)).toEqual(["b"]);
    });
  });
});

test("a call that takes many leases counts as under way until it has ended", async () => {
  await simulate(async (world) => {
    const { bank, a, b } = payers(world);
    const held = world.hold("pay");
    const first = a.pay();
    await held.reached;
    const second = b.pay();
    await world.pass(500_000);
    await held.release();
    expect(await Promise.all([first, second])).toEqual(["receipt", "receipt"]);
    expect(paidBy(bank)).toEqual(["a"]);
  });
});

test("a claim whose acknowledgement was lost is its process's own: it makes the call when it is asked again", async () => {
  await simulate(async (world) => {
    const { bank, a } = payers(world);
    const held = holdAppend(world, a);
    const first = a.pay();
    await held.arrive();
    await held.fail();
    await expect(first).rejects.toMatchObject({ code: "UNAVAILABLE" });
    expect(paidBy(bank)).toEqual([]);
    expect(await a.pay()).toBe("receipt");
  });
});

test("a call whose outcome couldn't be recorded isn't made again by its process", async () => {
  await simulate(async (world) => {
    const { bank, a } = payers(world);
    const paying = world.hold("pay");
    const first = a.pay();
    await paying.reached;
    const outcome = holdAppend(world, a);
    await paying.release();
    await outcome.fail();
    expect(await first).toBe("receipt");
    await expect(a.pay()).rejects.toMatchObject({ code: "AMBIGUOUS_OUTCOME" });
    expect(paidBy(bank)).toEqual(["a"]);
  });
});

describe("what somebody finds out about a call of a process that died", () => {
  /** A process was killed in its call, and its lease has ended. */
  async function dead(world: World): Promise<ReturnType<typeof payers>> {
    const all = payers(world);
    const held = world.hold("pay", { from: all.a.process });
    void all.a.pay();
    (await held.reached).fail();
    all.a.process.kill();
    await world.pass(31_000);
    return all;
  }

  test("isn't recorded for the next attempt, which is under way", async () => {
    await simulate(async (world) => {
      const { bank, b, c } = await dead(world);
      const looking = gate();
      const late = c.pay("rent", async () => {
        await looking.during();
        return didNotHappen();
      });
      await looking.reached;
      const paying = world.hold("pay");
      const next = b.pay("rent", didNotHappen);
      await paying.reached;
      looking.open();
      await world.pass(1000);
      await paying.release();
      expect(await Promise.all([late, next])).toEqual(["receipt", "receipt"]);
      expect(paidBy(bank)).toEqual(["b"]);
    });
  });

  test.each(["resolve", "forget"] as const)(
    "%s by an operator is refused where the next attempt is under way",
    async (how) => {
      await simulate(async (world) => {
        const { bank, b, c } = await dead(world);
        const { value: open } = await c.journal.unresolved("t").next();
        const held = holdAppend(world, c);
        const telling = {
          resolve: () => c.journal.resolve(open!.fingerprint, { threadId: "t", happened: false }),
          forget: () => c.journal.forget(open!.fingerprint, { threadId: "t", reason: "it never happened" }),
        }[how]();
        await held.reached;
        const paying = world.hold("pay");
        const next = b.pay("rent", didNotHappen);
        await paying.reached;
        await held.release();
        await expect(telling).rejects.toMatchObject({ code: "LOCKED" });
        await paying.release();
        expect(await next).toBe("receipt");
        expect(paidBy(bank)).toEqual(["b"]);
      });
    },
  );

  test("is known to who has seen the call before it was found out", async () => {
    await simulate(async (world) => {
      const { a, b } = payers(world);
      const held = world.hold("pay");
      const first = a.pay();
      await held.fail();
      await expect(first).rejects.toMatchObject({ code: "UNAVAILABLE" });
      const { value: open } = await b.journal.unresolved("t").next();
      await b.journal.resolve(open!.fingerprint, { threadId: "t", happened: true, result: "found" });
      expect(await a.pay()).toBe("found");
    });
  });
});

test("erasing brings back no entries that another process cut off meanwhile", async () => {
  await simulate(async (world) => {
    const { a, b, c } = payers(world);
    await a.pay("rent");
    await world.pass(1000);
    await a.pay("taxes");
    const held = holdAppend(world, a);
    const erasing = a.process.run(() => a.journal.erase("t", { before: new Date(Date.now() + 1) }));
    await held.reached;
    await b.process.run(() => b.journal.cut("t", { before: new Date() }));
    await held.release();
    await erasing;
    expect(await c.journal.verify("t")).toMatchObject({ ok: true });
    expect(await entriesOf(c)).toEqual(["claimed", "succeeded", "cut", "erased"]);
  });
});

test("two processes make one call, of which one may die or sleep: it happens once, and is never lost", async () => {
  await explore(
    async (world) => {
      const { bank, a, b, c } = payers(world);
      const makers = [a, b].map((payer) =>
        payer.process.finish(async () => {
          for (let n = 0; n < 2; n += 1)
            expect((await payer.pay().catch(refuseUnexpected)) ?? "receipt").toBe("receipt");
        }),
      );
      world.offer("a is killed", () => a.process.kill());
      world.offer("a falls asleep for two minutes", () => {
        a.process.suspend();
        setTimeout(() => a.process.resume(), 120_000);
      });
      await Promise.all(makers);
      await world.calm();
      // Whoever looks finds what happened, as far as nobody recorded it.
      const found = { threadId: "t", happened: bank.paid.length > 0, result: "receipt" };
      for await (const { fingerprint } of c.journal.unresolved("t"))
        await c.journal.resolve(fingerprint, found);
      expect(await c.pay()).toBe("receipt");
      expect(bank.paid).toHaveLength(1);
      expect(await c.journal.verify("t")).toMatchObject({ ok: true });
    },
    { schedules: inRounds({ few: 100, all: 500 }), faults: 2, choices: 80 },
  );
});

/** What a caller is told where nobody knows, or the storage or the bank can't be reached. */
function refuseUnexpected(error: unknown): undefined {
  const { code } = error as { code?: string };
  if (code !== "AMBIGUOUS_OUTCOME" && code !== "UNAVAILABLE") throw error;
}
