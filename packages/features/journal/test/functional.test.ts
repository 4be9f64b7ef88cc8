import { ToolMessage } from "@langchain/core/messages";
import { Command, entrypoint, interrupt, task } from "@langchain/langgraph";
import { currentCall, type Journal } from "@stratigraph/journal";
import { describe, expect, it } from "vitest";
import { payments, questions, reply } from "./support/effects.ts";
import { savers, type Opened } from "./support/savers.ts";
import { journalOn } from "./support/journalOn.ts";

describe.each(savers.slice(0, 2))("calls of the functional API, on %s", (_name, open) => {
  let opened: Opened;
  let journal: Journal;
  journalOn(open, (...on) => ([opened, journal] = on));
  const thread = () => ({ configurable: { thread_id: crypto.randomUUID() } });

  it("are found by their names, not by their position, and new ones run", async () => {
    const paid: number[] = [];
    let amounts = [1, 2];
    const flow = entrypoint({ name: "flow", checkpointer: opened.saver }, async (_input: string, config) => {
      const results: string[] = [];
      for (const amount of amounts)
        results.push(
          await journal.run(config, { id: `charge ${amount}`, tool: "charge", args: { amount } }, () => {
            paid.push(amount);
            return `receipt ${amount}`;
          }),
        );
      const answer = interrupt("go on?") as string;
      return [...results, answer];
    });
    const config = thread();
    await flow.invoke("go", config);
    expect(paid).toEqual([1, 2]);
    amounts = [2, 3, 1];
    const done = await flow.invoke(new Command({ resume: "yes" }), config);
    expect(done).toEqual(["receipt 2", "receipt 3", "receipt 1", "yes"]);
    expect(paid).toEqual([1, 2, 3]);
  });

  it("of a task run once, also where LangGraph repeats the task; equal ones in a row all run", async () => {
    const paid: number[] = [];
    let broken = true;
    const work = task("work", async (amount: number) => {
      for (let times = 0; times < 2; times += 1)
        await journal.run(
          undefined,
          { id: `charge ${times}`, tool: "charge", args: { amount } },
          () => void paid.push(amount),
        );
      if (broken) throw new Error("later");
      return paid.length;
    });
    const flow = entrypoint(
      { name: "flow", checkpointer: opened.saver },
      async (amount: number) => await work(amount),
    );
    const config = thread();
    await expect(flow.invoke(5, config)).rejects.toThrow("later");
    expect(paid).toEqual([5, 5]);
    broken = false;
    expect(await flow.invoke(null as never, config)).toBe(2);
    expect(paid).toEqual([5, 5]);
  });

  it("of equal tasks one after another all run, and none of them again", async () => {
    const paid: number[] = [];
    let broken = true;
    const work = task("work", async (amount: number) => {
      const run = { id: "charge", args: { amount } };
      return await journal.run(undefined, run, () => paid.push(amount));
    });
    const flow = entrypoint({ name: "flow", checkpointer: opened.saver }, async (amount: number) => {
      const results = [await work(amount), await work(amount)];
      if (broken) throw new Error("later");
      return [...results, await work(amount)];
    });
    const config = thread();
    await expect(flow.invoke(5, config)).rejects.toThrow("later");
    broken = false;
    expect(await flow.invoke(null as never, config)).toEqual([1, 2, 3]);
    expect(paid).toEqual([5, 5, 5]);
  });

  it("give back messages and commands as the code returned them", async () => {
    let made = 0;
    const update = {
      messages: [new ToolMessage({ content: "paid", tool_call_id: "call 1", status: "error" })],
    };
    const flow = entrypoint({ name: "flow", checkpointer: opened.saver }, async (what: string, config) => {
      const message = await journal.run(config, { id: "message", args: what }, () => {
        made += 1;
        return update.messages[0]!;
      });
      const command = await journal.run(config, { id: "command", args: what }, () => new Command({ update }));
      const answer = interrupt("go on?") as string;
      return { message, command: (command.update as typeof update).messages[0]!, answer };
    });
    const config = thread();
    await flow.invoke("go", config);
    const { message, command } = await flow.invoke(new Command({ resume: "yes" }), config);
    for (const given of [message, command])
      expect(given).toMatchObject({ content: "paid", tool_call_id: "call 1", status: "error" });
    expect(made).toBe(1);
  });

  it("of parallel tasks are asked about apart, and tools that are called directly give their content", async () => {
    const { pay, paid } = payments((_amount, times) => {
      if (times === 1) throw new Error("the line was cut");
    });
    const [wrapped] = journal.tools([pay], { pay: "once" });
    const work = task("work", async (amount: number) => {
      try {
        return await wrapped!.invoke({ amount });
      } catch (error) {
        if (!String(error).includes("the line was cut")) throw error;
        return await wrapped!.invoke({ amount });
      }
    });
    const flow = entrypoint(
      { name: "flow", checkpointer: opened.saver },
      async (amounts: number[]) => await Promise.all(amounts.map((amount) => work(amount))),
    );
    const config = thread();
    let result: unknown = await flow.invoke([5, 6], config);
    // LangGraph shows as many of the tasks' questions as were put before the first one stopped the flow.
    for (let times = 0; times < 2 && questions(result).length > 0; times += 1) {
      const resume = Object.fromEntries(
        questions(result).map(({ id, value }) => [
          id,
          (value.args as { amount: number }).amount === 5
            ? { id: value.id, happened: true, result: "by phone" }
            : { id: value.id, happened: false },
        ]),
      );
      result = await flow.invoke(new Command({ resume }), config);
    }
    expect(result).toEqual(["by phone", "receipt 6"]);
    expect(paid.toSorted()).toEqual([5, 6, 6]);
  });

  it("have the same idempotency key in each attempt", async () => {
    const keys: unknown[] = [];
    const flow = entrypoint({ name: "flow", checkpointer: opened.saver }, async (_input: string, config) => {
      const plain = { id: "charge", args: {}, effects: "idempotent" as const };
      return await journal.run(config, plain, ({ idempotencyKey }) => {
        keys.push(idempotencyKey, currentCall()!.idempotencyKey);
        if (keys.length < 4) throw new Error("again");
        return "done";
      });
    });
    const config = thread();
    await expect(flow.invoke("go", config)).rejects.toThrow("again");
    expect(await flow.invoke(null as never, config)).toBe("done");
    expect(new Set(keys).size).toBe(1);
  });

  it("whose run was aborted are recorded when they end later, and weren't done twice", async () => {
    let finish: (() => void) | undefined;
    let runs = 0;
    const controller = new AbortController();
    const began = deferred();
    const flow = entrypoint({ name: "flow", checkpointer: opened.saver }, async (_input: string, config) => {
      return await journal.run(config, { id: "charge", args: {} }, async () => {
        runs += 1;
        began.resolve();
        await new Promise<void>((resolve) => (finish = resolve));
        return "receipt";
      });
    });
    const config = thread();
    const run = flow.invoke("go", { ...config, signal: controller.signal });
    const aborted = run.catch((error: unknown) => error);
    await began.promise;
    controller.abort();
    expect(await aborted).toBeInstanceOf(Error);
    const again = flow.invoke(null as never, config);
    finish!();
    expect(await again).toBe("receipt");
    expect(runs).toBe(1);
  });

  it("of a tool that an abort gave up on are asked about: it may still act", async () => {
    const controller = new AbortController();
    const [began, finish] = [deferred(), deferred()];
    const { pay, paid } = payments(async () => {
      began.resolve();
      await finish.promise;
    });
    const [wrapped] = journal.tools([pay], { pay: "once" });
    const flow = entrypoint({ name: "flow", checkpointer: opened.saver }, async (amount: number, config) =>
      String(await wrapped!.invoke({ amount }, config)),
    );
    const config = thread();
    const aborted = flow.invoke(5, { ...config, signal: controller.signal }).catch((error: unknown) => error);
    await began.promise;
    controller.abort();
    expect(await aborted).toBeInstanceOf(Error);
    const stopped = await flow.invoke(null as never, config);
    expect(questions(stopped)).toMatchObject([{ value: { kind: "ambiguous", tool: "pay" } }]);
    finish.resolve();
    expect(await flow.invoke(reply(stopped, { happened: true, result: "receipt 5" }), config)).toBe(
      "receipt 5",
    );
    expect(paid).toEqual([5]);
  });
});

function deferred(): { promise: Promise<void>; resolve: () => void } {
  let resolve!: () => void;
  const promise = new Promise<void>((done) => (resolve = done));
  return { promise, resolve };
}
