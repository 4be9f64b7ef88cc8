import type { OutputOf } from "../../../src/operations/index.ts";
import { commandText } from "../../design/commandText.ts";
import { contentOf, isObject } from "../../values/records.ts";
import type { ValueAt } from "../../values/ValueAt.ts";

/** A checkpoint as the operation `show` returns it. */
export type Shown = OutputOf<"show">;

export type Channel = Shown["channels"][number];

export type Write = Shown["writes"][number];

export function atOf({ thread, namespace, checkpoint }: Shown): ValueAt {
  return { thread, namespace, checkpoint };
}

/** An address of the checkpoint: `ada@1ef4f79…`. */
export function addressOf({ thread, checkpoint }: Pick<Shown, "thread" | "checkpoint">): string {
  return `${thread}@${checkpoint}`;
}

/** The command that shows the checkpoint in a terminal. */
export function showCommand(shown: Pick<Shown, "thread" | "checkpoint" | "namespace">): string {
  return commandText("show", [addressOf(shown)], { namespace: shown.namespace });
}

/** TypeScript that reads the checkpoint. */
export function readCode({
  thread,
  namespace,
  checkpoint,
}: Pick<Shown, "thread" | "checkpoint" | "namespace">): string {
  const text = (value: string): string => JSON.stringify(value);
  return [
    "const config = {",
    "  configurable: {",
    `    thread_id: ${text(thread)},`,
    `    checkpoint_ns: ${text(namespace)},`,
    `    checkpoint_id: ${text(checkpoint)},`,
    "  },",
    "};",
    "const tuple = await checkpointer.getTuple(config);",
    "const state = await graph.getState(config); // or, with the graph that wrote it",
  ].join("\n");
}

/** Whether a channel is LangGraph's own rather than the graph author's. */
export function isOwn(channel: string): boolean {
  return /^(__|branch:|join:|start:)/.test(channel);
}

/** The questions in the pending write of an interrupt. One write may hold several. */
export function questionsOf({
  value,
}: Pick<Write, "value">): { readonly id: string | undefined; readonly value: unknown }[] {
  const content = contentOf(value);
  return (Array.isArray(content) ? (content as unknown[]) : [content]).map((each) => {
    const interrupt = contentOf(each);
    if (!isObject(interrupt) || !("value" in interrupt)) return { id: undefined, value: interrupt };
    const id = interrupt["id"] ?? interrupt["interrupt_id"];
    return { id: typeof id === "string" ? id : undefined, value: interrupt["value"] };
  });
}
