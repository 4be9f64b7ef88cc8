import type { TierSaver } from "@stratigraph/core";
import type { Context } from "../table/context.ts";
import type { TaskSnapshot } from "./runnableGraph.ts";
import { isObject } from "../values/records.ts";
import { Redaction } from "../values/redaction.ts";
import { shownValue, viewOf } from "../values/view.ts";

/** Longest text of one event, in characters; values of nodes' own events are cut to as many bytes. */
const longestText = 4000;

/** How many characters of texts and values are reported of one run at most: more than a person reads. */
const mostText = 2_000_000;

/** One task as it ran. */
export interface RanNode {
  readonly node: string;
  readonly task: string;
  readonly namespace: string;
  state: "ended" | "failed" | "interrupted" | "stopped";
  ms: number;
}

/** Turns LangGraph's stream into events, and records which nodes ran and which checkpoints were reported. */
export class LiveEvents {
  readonly nodes: RanNode[] = [];
  /** Ids of checkpoints of the root namespace. */
  readonly checkpoints: string[] = [];
  readonly #saver: TierSaver;
  readonly #emit: Context["emit"];
  readonly #redaction: Redaction;
  readonly #running = new Map<string, Running>();
  #left = mostText;

  constructor(saver: TierSaver, context: Context) {
    this.#saver = saver;
    this.#emit = context.emit?.bind(context);
    this.#redaction = new Redaction(context.redact);
  }

  /** Takes one part of a stream of several modes with subgraphs: namespace, mode and data. */
  async take(part: unknown): Promise<void> {
    const [path, mode, told] = part as [readonly string[], string, unknown];
    const namespace = path.join("|");
    if (mode === "tasks") this.#task(namespace, told as StreamedTask);
    else if (mode === "checkpoints") {
      this.#stepDone(namespace);
      if (namespace === "") this.#checkpoint(told as StreamedCheckpoint);
    } else if (this.#emit === undefined) return;
    else if (mode === "messages") this.#message(namespace, told as [unknown, unknown]);
    else if (mode === "custom") await this.#custom(namespace, told);
  }

  /**
   * Reports the ends of tasks that the stream didn't report, because a failing stream drops its unread parts or because of
   * LangGraph's version. Tasks that haven't ended count as stopped.
   * @param tasks the tasks in the present state
   */
  end(tasks: readonly TaskSnapshot[]): void {
    const known = new Map(tasks.map((task) => [task.id, task]));
    for (const [id, { ran, since, silentMs }] of this.#running) {
      const {
        error,
        result,
        interrupts = [],
      } = known.get(id) ??
      (silentMs === undefined ? {} : { error: known.get(rootTask(ran.namespace))?.error });
      if (result !== undefined) this.#ended(id, "ended");
      else if (error !== undefined && !isAbort(error)) this.#ended(id, "failed");
      else if (interrupts.length > 0) this.#ended(id, "interrupted");
      else if (silentMs !== undefined && error === undefined) this.#ended(id, "ended");
      else ran.ms = elapsed(since);
    }
    this.#running.clear();
    // A conditional edge may throw after its node has written: LangGraph 1.5 and older tell of the writes only.
    for (const ran of this.nodes) {
      const error = known.get(ran.task)?.error;
      if (ran.state !== "ended" || error === undefined || isAbort(error)) continue;
      ran.state = "failed";
      this.#emitEnd(ran);
    }
  }

  #task(namespace: string, task: StreamedTask): void {
    const { id, name } = task;
    if (!("result" in task)) {
      const ran: RanNode = { node: name, task: id, namespace, state: "stopped", ms: 0 };
      this.#running.set(id, { ran, since: performance.now() });
      this.nodes.push(ran);
      this.#emit?.({ type: "node", node: name, task: id, namespace, state: "started" });
      return;
    }
    const { error, interrupts = [] } = task;
    const failed = error !== null && error !== undefined;
    const running = this.#running.get(id);
    // LangGraph 1.5 and older don't tell a task that failed from one that wrote nothing. Its step's end does, or the state.
    if (running !== undefined && !("error" in task) && interrupts.length === 0 && isEmpty(task.result)) {
      running.silentMs = elapsed(running.since);
      return;
    }
    // LangGraph aborts the other tasks of a step if one fails. In the end, the state shows whether they ended nevertheless.
    if (failed && isAbort(error)) return;
    this.#ended(id, failed ? "failed" : interrupts.length > 0 ? "interrupted" : "ended");
  }

  #ended(id: string, state: "ended" | "failed" | "interrupted"): void {
    const running = this.#running.get(id);
    // A task that ended in an earlier run is reported again when its step goes on.
    if (running === undefined) return;
    this.#running.delete(id);
    const { ran, since, silentMs = elapsed(since) } = running;
    Object.assign(ran, { state, ms: silentMs });
    this.#emitEnd(ran);
  }

  #emitEnd({ node, task, namespace, state, ms }: RanNode): void {
    if (state !== "stopped") this.#emit?.({ type: "node", node, task, namespace, state, ms });
  }

  /** A step that ends with a checkpoint had no task that failed. */
  #stepDone(namespace: string): void {
    for (const [id, { ran, silentMs }] of this.#running)
      if (silentMs !== undefined && ran.namespace === namespace) this.#ended(id, "ended");
  }

  #checkpoint({ config, metadata, next }: StreamedCheckpoint): void {
    const checkpoint = config?.configurable?.checkpoint_id;
    if (checkpoint === undefined || this.checkpoints.at(-1) === checkpoint) return;
    this.checkpoints.push(checkpoint);
    const step = metadata?.step;
    this.#emit?.({
      type: "checkpoint",
      checkpoint,
      ...(step === undefined ? {} : { step }),
      next: next ?? [],
    });
  }

  #message(namespace: string, [message, metadata]: [unknown, unknown]): void {
    const { id, content, tool_calls: calls, tool_call_chunks: begun } = message as StreamedMessage;
    const role = (message as { getType?: () => string }).getType?.() ?? "unknown";
    const named = [...(Array.isArray(begun) ? begun : Array.isArray(calls) ? calls : [])].flatMap((call) =>
      typeof call.name === "string" && call.name !== "" ? [call.name] : [],
    );
    const text = this.#redaction.isActive ? undefined : this.#within(textOf(content));
    if ((text ?? "") === "" && named.length === 0) return;
    const node = String((metadata as { langgraph_node?: unknown } | null)?.langgraph_node ?? "");
    this.#emit?.({
      type: "message",
      node,
      namespace,
      ...(typeof id === "string" ? { id } : {}),
      role,
      ...(text === undefined ? {} : { text }),
      ...(named.length === 0 ? {} : { calls: named.slice(0, 100) }),
    });
  }

  async #custom(namespace: string, told: unknown): Promise<void> {
    if (this.#redaction.isActive || this.#left <= 0) return;
    const typed = await this.#saver.serde.dumpsTyped(told).catch(() => undefined);
    const view = typed && viewOf(shownValue("custom", typed, this.#redaction)!, longestText);
    this.#within(JSON.stringify(view?.value) ?? "");
    this.#emit?.({
      type: "custom",
      namespace,
      ...(view?.value === undefined ? {} : { value: view.value }),
    });
  }

  /** Cuts a text to what may still be reported, and counts it. */
  #within(text: string): string {
    if (this.#left <= 0) return "";
    const kept = text.length > longestText ? `${text.slice(0, longestText)}…` : text;
    this.#left -= kept.length;
    if (this.#left <= 0) this.#emit?.({ type: "omitted" });
    return kept;
  }
}

/** A task of which the stream hasn't told how it ended. */
interface Running {
  readonly ran: RanNode;
  readonly since: number;
  /** How long it ran, if the stream told that it ended and nothing else. */
  silentMs?: number;
}

interface StreamedTask {
  readonly id: string;
  readonly name: string;
  readonly result?: unknown;
  readonly error?: unknown;
  readonly interrupts?: readonly unknown[];
}

interface StreamedCheckpoint {
  readonly config?: { readonly configurable?: { readonly checkpoint_id?: string } };
  readonly metadata?: { readonly step?: number };
  readonly next?: readonly string[];
}

interface StreamedMessage {
  readonly id?: unknown;
  readonly content?: unknown;
  readonly tool_calls?: readonly { readonly name?: unknown }[];
  readonly tool_call_chunks?: readonly { readonly name?: unknown }[];
}

function isAbort(error: unknown): boolean {
  return isObject(error) && error["name"] === "AbortError";
}

function isEmpty(result: unknown): boolean {
  return isObject(result) && Object.keys(result).length === 0;
}

/** The id of the root graph's task in which a subgraph runs: namespaces are `node:task`, one below the other. */
function rootTask(namespace: string): string {
  return namespace.split("|", 1)[0]!.split(":").at(-1)!;
}

function elapsed(since: number): number {
  return Math.round((performance.now() - since) * 10) / 10;
}

/** The text of a message's content, which may be a list of blocks. */
function textOf(content: unknown): string {
  if (typeof content === "string") return content;
  if (!Array.isArray(content)) return "";
  return content
    .map((block: unknown) => (isObject(block) && typeof block["text"] === "string" ? block["text"] : ""))
    .join("");
}
