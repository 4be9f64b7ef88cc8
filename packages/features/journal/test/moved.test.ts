import { MemorySaver } from "@stratigraph/core";
import { createJournal } from "@stratigraph/journal";
import { moveThreads } from "@stratigraph/migrate";
import { expect, it } from "vitest";
import { agentOf, asks, payments, says } from "./support/effects.ts";

it("moves with its thread, and a move that is repeated doesn't wind it back", async () => {
  const [from, to] = [new MemorySaver(), new MemorySaver()];
  const config = { configurable: { thread_id: "ada" } };
  const { pay, paid } = payments();
  const pays = (amount: number) => ({ name: "pay", args: { amount } });
  const turn = async (saver: MemorySaver, amount: number) => {
    const journal = createJournal(saver);
    const script = (n: number) => (n % 2 === 0 ? asks(pays(amount)) : says("done"));
    const { graph } = agentOf(journal, journal.tools([pay], { pay: "once" }), script, saver);
    await graph.invoke({ messages: [{ role: "user", content: "pay" }] }, config);
    await journal.end();
    return journal;
  };
  await turn(from, 1);
  expect(await moveThreads(from, to)).toMatchObject({ threads: 1, differences: [], diverged: [] });
  // Only the journal goes on there.
  const bill = () => createJournal(to).run(config, { id: "bill", args: {} }, () => void paid.push(2));
  await bill();
  expect(await moveThreads(from, to)).toMatchObject({ differences: [], diverged: [] });
  await bill();
  const journal = await turn(to, 3);
  expect(paid).toEqual([1, 2, 3]);
  expect(await journal.verify("ada")).toMatchObject({ ok: true });
  const claimed = [];
  for await (const { event } of journal.trail("ada", { types: ["claimed"] })) claimed.push(event);
  expect(claimed).toHaveLength(3);
});
