import { StratigraphError } from "@stratigraph/core";
import { reservedNamespaces } from "@stratigraph/core/tier";
import { createCheckpointer } from "stratigraph";
import { Session } from "../../src/calls/session.ts";
import { Journal } from "../../src/journal.ts";
import { payingGraph } from "./payingGraph.ts";
import type { Place, Said, Task, Told } from "./racer.ts";

const { url, machine, leaseMs, clockMs = 0, slowClaim = false } = JSON.parse(process.argv[2]!) as Place;
if (clockMs !== 0) {
  const { now } = Date;
  globalThis.Date = class extends Date {
    constructor(...args: [] | [number | string]) {
      super(args.length === 0 ? now() + clockMs : args[0]);
    }
    static override now(): number {
      return now() + clockMs;
    }
  } as DateConstructor;
}
const checkpointer = await createCheckpointer({ postgres: url });
const journal = new Journal(checkpointer, {}, new Session(checkpointer.tier, { machine, leaseMs }));

let goOn: () => void = () => undefined;
let going = new Promise<void>((resolve) => (goOn = resolve));

if (slowClaim) {
  const { append } = checkpointer.tier;
  let isFirst = true;
  checkpointer.tier.append = async (request) => {
    const appended = await append.call(checkpointer.tier, request);
    if (isFirst && request.heads.some(({ namespace }) => namespace === reservedNamespaces.calls)) {
      isFirst = false;
      say({ claimed: true });
      await going;
    }
    return appended;
  };
}

function say(said: Said): void {
  process.send!(said);
}

async function pay(amount: number, held: boolean): Promise<string> {
  say({ paying: amount });
  if (held) await going;
  return `${amount} paid by ${process.pid}`;
}

const { graph } = payingGraph(journal, checkpointer, async (amount) => {
  await new Promise((resolve) => setTimeout(resolve, 200));
  return await pay(amount, false);
});

async function resumed({ thread, durability }: Extract<Task, { do: "resume" }>): Promise<readonly string[]> {
  const config = { configurable: { thread_id: thread }, durability };
  for (;;) {
    try {
      const { messages } = await graph.invoke(null, config);
      return messages.map(({ content }) => String(content)).filter((text) => text !== "");
    } catch (error) {
      // Under "sync", whoever loses the race for the thread's head is told, and goes on from there.
      if (!StratigraphError.is(error, "CHECKPOINT_CONFLICT")) throw error;
    }
  }
}

async function answers(task: Task): Promise<readonly string[]> {
  if (task.do === "resume") return await resumed(task);
  const { thread, amounts, atOnce = amounts.length, held = false, reconciled } = task;
  const left = amounts.entries();
  const made: string[] = [];
  const worker = async (): Promise<void> => {
    for (const [n, amount] of left) {
      made[n] = await journal.run(
        { configurable: { thread_id: thread } },
        { id: `pay ${amount}`, tool: "pay", args: { amount }, reconcile: () => reconciled },
        () => pay(amount, held),
      );
    }
  };
  await Promise.all(Array.from({ length: atOnce }, worker));
  return made;
}

process.on("message", (told: Told) => {
  if (told === "end") {
    void journal
      .end()
      .then(() => checkpointer.end())
      .then(() => process.disconnect());
  } else if (told === "go on") {
    goOn();
    going = new Promise((resolve) => (goOn = resolve));
  } else {
    const { id, task } = told;
    answers(task).then(
      (made) => say({ id, answers: made }),
      (error: Error & { code?: string }) => {
        say({ id, code: error.code ?? error.name, message: error.message });
      },
    );
  }
});
say({ ready: true });
