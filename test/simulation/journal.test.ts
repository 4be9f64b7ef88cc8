import { Annotation, END, START, StateGraph } from "@langchain/langgraph";
import { reservedNamespaces, type AppendRequest } from "@stratigraph/core";
import { inRounds } from "../rounds.ts";
import { on } from "../../packages/branch/test/support/graphs.ts";
import { Bank, loadProgram, type Program } from "./bank.ts";
import { explore, simulate } from "./simulate.ts";
import { warmUp } from "./site.ts";
import type { WireCall } from "./wireCall.ts";

let programs: Program[];
beforeAll(async () => {
  await warmUp();
  programs = [await loadProgram(), await loadProgram(), await loadProgram()];
});

const config = { configurable: { thread_id: "t" } };
const isOfJournal = ({ args: [request] }: WireCall): boolean =>
  (request as AppendRequest).heads.some(({ namespace }) => namespace === reservedNamespaces.calls);

test("a thread that was deleted and begun anew: another call's record isn't taken for the result", async () => {
  await simulate(async (world) => {
    const bank = new Bank(world);
    const [ours, others] = [world.machine("ours"), world.machine("others")];
    const [a, b] = [bank.open(ours, programs[0]!), bank.open(others, programs[1]!)];
    const makes = async ({ journal, pay }: typeof a, tool: string) =>
      await journal.run(config, { tool, args: {} }, async () => await pay(tool));
    expect(await makes(a, "pay rent")).toBe("receipt");
    await bank.saver(others).deleteThread("t");
    expect(await makes(b, "pay taxes")).toBe("receipt");
    expect(await makes(a, "pay rent")).toBe("receipt");
    expect(bank.paid.map(({ key }) => key)).toEqual(["pay rent", "pay taxes", "pay rent"]);
    expect(await a.journal.verify("t")).toMatchObject({ ok: true });
  });
});

test.each(["deleted", "deleted and begun anew"])(
  "a run whose thread is %s when it is about to claim its first call makes none, and leaves nothing",
  async (how) => {
    await simulate(async (world) => {
      const bank = new Bank(world);
      const [ours, others] = [world.machine("ours"), world.machine("others")];
      const saver = bank.saver(ours);
      const { journal, pay } = bank.open(ours, programs[0]!, saver);
      const graph = new StateGraph(Annotation.Root({ done: Annotation<string> }))
        .addNode("node", async (_state, within) => ({
          done: await journal.run(within, { tool: "pay", args: {} }, async () => await pay("late")),
        }))
        .addEdge(START, "node")
        .addEdge("node", END)
        .compile({ checkpointer: saver });
      const held = world.hold("append", { from: ours, when: isOfJournal });
      const running = ours.run(() => graph.invoke({ done: "" }, on("t")));
      await held.reached;
      await bank.saver(others).deleteThread("t");
      const other = bank.open(others, programs[1]!);
      if (how !== "deleted")
        await other.journal.run(config, { tool: "pay", args: {} }, async () => await other.pay("timely"));
      await held.release();
      await expect(running).rejects.toMatchObject({ code: "THREAD_DELETED" });
      const paid = bank.paid.map(({ key }) => key);
      expect(paid).toEqual(how === "deleted" ? [] : ["timely"]);
      const entries: string[] = [];
      for await (const { event } of other.journal.trail("t")) entries.push(event.type);
      expect(entries).toEqual(how === "deleted" ? [] : ["session", "claimed", "succeeded"]);
    });
  },
);

test("two processes make one call, one of which may die or sleep: it happens once, and is never lost", async () => {
  await explore(
    async (world) => {
      const bank = new Bank(world);
      const [a, b] = [world.machine("a"), world.machine("b")];
      const makes = async ({ journal, pay }: ReturnType<Bank["open"]>): Promise<string> => {
        const call = { tool: "pay", args: { amount: 5 } };
        return await journal.run(config, call, async () => await pay("5"));
      };
      const makers = [a, b].map((process, n) =>
        process.finish(async () => {
          const got = await makes(bank.open(process, programs[n]!)).catch(refuseUnexpected);
          if (got !== undefined) expect(got).toBe("receipt");
        }),
      );
      world.offer("a is killed", () => a.kill());
      world.offer("a falls asleep for two minutes", () => {
        a.suspend();
        setTimeout(() => a.resume(), 120_000);
      });
      await Promise.all(makers);
      await world.calm();
      const { journal, pay } = bank.open(world.machine("operator"), programs[2]!);
      // Whoever looks finds what happened, as far as nobody recorded it.
      for await (const { fingerprint } of journal.unresolved("t"))
        await journal.resolve(fingerprint, {
          threadId: "t",
          happened: bank.paid.length > 0,
          result: "receipt",
        });
      expect(await makes({ journal, pay })).toBe("receipt");
      expect(bank.paid).toHaveLength(1);
      expect(await journal.verify("t")).toMatchObject({ ok: true });
    },
    { schedules: inRounds({ few: 100, all: 1000 }), faults: 2, choices: 80 },
  );
});

/** What a caller is told where nobody knows, or the storage or the bank can't be reached. */
function refuseUnexpected(error: unknown): undefined {
  const { code } = error as { code?: string };
  if (code !== "AMBIGUOUS_OUTCOME" && code !== "UNAVAILABLE") throw error;
}
