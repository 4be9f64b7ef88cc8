import { subscribe, unsubscribe } from "node:diagnostics_channel";
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { setImmediate } from "node:timers/promises";
import { Annotation, END, START, StateGraph } from "@langchain/langgraph";
import { MemoryTier, TierSaver, type SaverOptions, type Tier, type TraceEvent } from "@stratigraph/core";
import { FaultyTier, type TierMethod } from "@stratigraph/testing";
import { onTestFinished } from "vitest";

/** Of the @langchain/langgraph that is tested with. */
export function langGraphVersion(): string {
  const path = createRequire(import.meta.url).resolve("@langchain/langgraph/package.json");
  return (JSON.parse(readFileSync(path, "utf8")) as { version: string }).version;
}

/** Text that doesn't compress away, the same in every run. */
export function text(name: string, kilobytes = 1): string {
  const parts = Array.from({ length: kilobytes * 16 }, (_, n) =>
    createHash("sha256").update(`${name} ${n}`).digest("hex"),
  );
  return `${name} ${parts.join("")}`;
}

const State = Annotation.Root({
  log: Annotation<string[]>({ reducer: (a, b) => [...a, ...b], default: () => [] }),
  who: Annotation<string>,
  note: Annotation<string>,
});

/** A graph of two steps that log who ran them. `during` runs inside the first step. */
export function twoSteps(checkpointer: TierSaver, during: () => Promise<void> = async () => {}) {
  return new StateGraph(State)
    .addNode("one", async ({ who }) => {
      await during();
      return { log: [`one by ${who}`] };
    })
    .addNode("two", ({ who }) => ({ log: [`two by ${who}`] }))
    .addEdge(START, "one")
    .addEdge("one", "two")
    .addEdge("two", END)
    .compile({ checkpointer });
}

/** What {@link twoSteps} logs in one run. */
export const stepsBy = (who: string): string[] => [`one by ${who}`, `two by ${who}`];

/** A savers' storage with a door to every saver: what a process of its own would open. */
export class Storage {
  readonly tier = new MemoryTier();

  open(options: SaverOptions = {}): { saver: TierSaver; door: FaultyTier } {
    const door = new FaultyTier(this.tier);
    return { saver: new TierSaver(door, options), door };
  }
}

/** A gate inside a node: `reached` when a run waits there, `open` to let it on. The second run finds it open. */
export function gate(): { during: () => Promise<void>; reached: Promise<void>; open: () => void } {
  let open = (): void => {};
  let reach = (): void => {};
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });
  const reached = new Promise<void>((resolve) => {
    reach = resolve;
  });
  const during = async (): Promise<void> => {
    reach();
    await opened;
  };
  return { during, reached, open };
}

/** Resolves once so many calls of a method were answered. */
export async function acknowledged(door: FaultyTier, method: TierMethod, count: number): Promise<void> {
  const done = (): number =>
    door.calls.filter((call) => call.method === method && call.outcome === "returned").length;
  while (done() < count) await setImmediate();
}

/** What is traced while the test runs, besides the operations and calls themselves. */
export function traced(): TraceEvent[] {
  const events: TraceEvent[] = [];
  const listen = (message: unknown): void => {
    const event = message as TraceEvent;
    if (!/^(operation|call)(-start)?$/.test(event.type)) events.push(event);
  };
  subscribe("stratigraph", listen);
  onTestFinished(() => {
    unsubscribe("stratigraph", listen);
  });
  return events;
}

/** Rejections that nobody handled while the test ran: each would end a Node process. */
export function unhandled(): unknown[] {
  const reasons: unknown[] = [];
  const listen = (reason: unknown): void => {
    reasons.push(reason);
  };
  process.on("unhandledRejection", listen);
  onTestFinished(() => {
    process.off("unhandledRejection", listen);
  });
  return reasons;
}

/** The same tier without its optional fast paths. */
export function withoutFastPaths(tier: Tier): Tier {
  return replacing(tier, { ancestry: undefined, copyThread: undefined });
}

/** A tier with some members replaced. */
export function replacing(tier: Tier, members: Readonly<Record<string, unknown>>): Tier {
  return new Proxy(tier, {
    get(target, name) {
      if (typeof name === "string" && Object.hasOwn(members, name)) return members[name];
      const member: unknown = Reflect.get(target, name, target);
      return typeof member === "function" ? (member.bind(target) as unknown) : member;
    },
  });
}

/** A tier as it was before it kept check values of keys. */
export function withoutKeyChecks(tier: Tier): Tier {
  return replacing(tier, { claimKeyCheck: undefined, keyChecks: undefined });
}

/** What a thread holds, bytes as text, for comparing before and after. */
export async function contents(tier: Tier, threadId: string) {
  const records: unknown[] = [];
  for await (const { record, writes } of tier.list({ threadId }))
    records.push([{ ...record, body: hex(record.body) }, writes.map((one) => [one.taskId, hex(one.body)])]);
  return { records, blobs: [...(await tier.blobs(threadId))] };
}

function hex(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString("hex");
}

/** A thread's history, newest first. */
export async function historyOf(saver: TierSaver, threadId = "t") {
  const states = [];
  for await (const state of twoSteps(saver).getStateHistory({ configurable: { thread_id: threadId } }))
    states.push(state);
  return states;
}

/** Turns of thread "t" whose log grows by enough to be patched. */
export async function turns(saver: TierSaver, names: readonly string[], more: object = {}): Promise<void> {
  const thread = { configurable: { thread_id: "t" } };
  for (const who of names) await twoSteps(saver).invoke({ who, log: [text(who, 2)] }, { ...thread, ...more });
}

/** What the log is after {@link turns}. */
export function logOf(...names: readonly string[]): string[] {
  return names.flatMap((who) => [text(who, 2), ...stepsBy(who)]);
}
