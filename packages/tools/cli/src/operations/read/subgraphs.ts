import { TASKS, uuid5 } from "@langchain/langgraph-checkpoint";
import type { TierSaver } from "@stratigraph/core";
import { inParallel, outlineOf } from "@stratigraph/core/internal";
import type { Address, StoredCheckpoint } from "@stratigraph/core/tier";
import { contentOf, isMessage, isObject, type JsonObject } from "../values/records.ts";
import type { Redaction } from "../values/redaction.ts";
import { parsedValue } from "../values/view.ts";
import { listedCheckpoint, openRecord, type ListedHead, type OpenedRecord } from "./records.ts";

/** The channel that holds conversations by default. */
export const conversation = "messages";

/** How many subgraphs are read at the same time. */
const together = 8;

/** The name under which an agent of `createAgent` speaks that was given none. */
const unnamed = "model";

/** A tool call that a model asked for. */
interface ToolCall {
  readonly id?: string;
  readonly name: string;
}

/** A run of a subgraph: a namespace of a thread, and what it was run for. */
export interface Subgraph {
  readonly namespace: string;
  /** The task that runs it, without the name of its node. */
  readonly task: string;
  readonly node: string;
  /** Who it is, as far as it can be told: a subagent's name, or that of the node or tool that runs it. */
  readonly agent: string;
  /** The tool call that it was run for. Undefined if none was, or if it can't be told for which one of several. */
  readonly call?: ToolCall;
  /** The graph that ran it, and the checkpoint from which its step began. */
  readonly parent: { readonly namespace: string; readonly checkpoint?: string };
  readonly head: OpenedRecord;
  /** The messages at its head, as JSON of the serde, without what is redacted. */
  readonly messages: unknown;
}

/** The heads of the namespaces of a thread's subgraphs, those written last first. One query, if the tier can. */
export async function subgraphHeads(saver: TierSaver, threadId: string): Promise<ListedHead[]> {
  const { heads } = await outlineOf(saver.tier, threadId);
  return [...heads.values()]
    .map(({ record, writes }) => ({ record, writes, head: record.checkpointId }))
    .sort(({ record: a }, { record: b }) =>
      a.checkpointId === b.checkpointId
        ? a.namespace < b.namespace
          ? -1
          : 1
        : a.checkpointId < b.checkpointId
          ? 1
          : -1,
    );
}

/** The subgraphs that the step after a checkpoint ran. */
export async function subgraphsFrom(
  saver: TierSaver,
  { threadId, namespace, checkpointId }: Address,
  redaction: Redaction,
): Promise<Subgraph[]> {
  const ran: ListedHead[] = [];
  for (const head of await subgraphHeads(saver, threadId)) {
    const parent = parentOf(await openRecord(saver, head));
    if (parent.namespace === namespace && parent.checkpoint === checkpointId) ran.push(head);
  }
  return await new Subgraphs(saver, redaction).read(ran);
}

/** Reads what subgraphs were run for: the state from which each was called, and its own messages. */
export class Subgraphs {
  readonly #saver: TierSaver;
  readonly #redaction: Redaction;
  /** States that called subgraphs. Calls of one message have the same. */
  readonly #callers = new Map<string, Promise<Caller | undefined>>();

  constructor(saver: TierSaver, redaction: Redaction) {
    this.#saver = saver;
    this.#redaction = redaction;
  }

  /** In the same order. */
  async read(heads: readonly ListedHead[], signal?: AbortSignal): Promise<Subgraph[]> {
    const found: Subgraph[] = [];
    const look = async ([n, head]: [number, ListedHead]) => void (found[n] = await this.#of(head));
    await inParallel([...heads.entries()], together, look, signal);
    return found;
  }

  async #of(listed: ListedHead): Promise<Subgraph> {
    const head = await openRecord(this.#saver, listed);
    const { namespace, threadId } = head.record;
    const parent = parentOf(head);
    const { node, task } = hopOf(namespace, parent.namespace);
    const caller =
      parent.checkpoint === undefined ? undefined : await this.#caller(threadId, parent as Required<Parent>);
    const { call, to } = caller === undefined ? {} : calledBy(caller, parent as Required<Parent>, node, task);
    const stored = await listedCheckpoint(this.#saver, head.record);
    const messages = stored && (await this.#value(stored, head, conversation));
    const agent = call === undefined || to === node ? node : (to ?? speakerIn(messages) ?? call.name);
    return {
      namespace,
      task,
      node,
      agent,
      ...(call === undefined ? {} : { call }),
      parent,
      head,
      messages,
    };
  }

  #caller(threadId: string, { namespace, checkpoint }: Required<Parent>): Promise<Caller | undefined> {
    const key = JSON.stringify([namespace, checkpoint]);
    const reading =
      this.#callers.get(key) ?? this.#readCaller({ threadId, namespace, checkpointId: checkpoint });
    this.#callers.set(key, reading);
    return reading;
  }

  async #readCaller(at: {
    threadId: string;
    namespace: string;
    checkpointId: string;
  }): Promise<Caller | undefined> {
    const stored = await listedCheckpoint(this.#saver, at);
    if (stored === undefined) return undefined;
    const opened = await openRecord(this.#saver, { ...stored, head: undefined });
    const [sends, messages] = await Promise.all([
      this.#value(stored, opened, TASKS),
      this.#value(stored, opened, conversation),
    ]);
    return { step: Number(opened.metadata["step"]), sends: listOf(sends).flat(), messages: listOf(messages) };
  }

  async #value(
    { record, blobs }: StoredCheckpoint,
    { body }: OpenedRecord,
    channel: string,
  ): Promise<unknown> {
    const value = body.manifest.get(channel)?.value;
    if (value === undefined) return undefined;
    const typed = await this.#saver.coder.serialized(record, channel, value, blobs);
    return parsedValue(channel, typed, this.#redaction).json?.value;
  }
}

type Parent = Subgraph["parent"];

/** The state from which a subgraph was run. */
interface Caller {
  readonly step: number;
  readonly sends: readonly unknown[];
  readonly messages: readonly unknown[];
}

/** A subgraph's metadata names the checkpoints of all graphs above it. The nearest one has the longest namespace. */
function parentOf({ metadata, record }: OpenedRecord): Parent {
  const above = Object.entries(Object(metadata["parents"]) as Record<string, unknown>)
    .filter(([namespace]) => namespace === "" || record.namespace.startsWith(`${namespace}|`))
    .sort(([a], [b]) => b.length - a.length);
  const [namespace = "", checkpoint] = above[0] ?? [];
  return { namespace, ...(typeof checkpoint === "string" ? { checkpoint } : {}) };
}

/** The node and the task at the end of a namespace. A number counts the subgraphs that one task calls. */
function hopOf(namespace: string, parent: string): { node: string; task: string } {
  const hop = namespace.slice(parent === "" ? 0 : parent.length + 1).split("|", 1)[0]!;
  const split = hop.lastIndexOf(":");
  return split < 0 ? { node: hop, task: "" } : { node: hop.slice(0, split), task: hop.slice(split + 1) };
}

/**
 * The call that a subgraph was run for, and the agent that it names. An agent of `createAgent` sends each call to a task of its own, whose
 * id LangGraph makes of its place among the Sends; any other task serves the calls of the last message.
 */
function calledBy(
  { step, sends, messages }: Caller,
  { namespace, checkpoint }: Required<Parent>,
  node: string,
  task: string,
): { readonly call?: ToolCall; readonly to?: string } {
  const path = namespace === "" ? node : `${namespace}|${node}`;
  const idOf = (index: number) =>
    uuid5(JSON.stringify([path, String(step + 1), node, "__pregel_push", String(index)]), checkpoint);
  const place = sends.findIndex((_, index) => idOf(index) === task);
  if (place >= 0) {
    const args = contentOf(Object(contentOf(sends[place]))["args"]);
    const call = isObject(args) ? contentOf(args["lg_tool_call"] ?? args) : undefined;
    return isObject(call) ? toldOf(call) : {};
  }
  const last = messages.at(-1);
  if (!isMessage(last)) return {};
  const calls = callsIn(last);
  if (calls.length > 0) return calls.length === 1 ? toldOf(calls[0]!) : {};
  // Handoffs of supervisor and swarm are answered before the agent runs that they lead to.
  const answered = last.kwargs["tool_call_id"];
  const handoff = messages.flatMap(callsIn).findLast(({ id }) => id === answered && answered !== undefined);
  if (handoff === undefined) return {};
  const goal = /^transfer_(?:back_)?to_(.+)$/.exec(String(handoff["name"]))?.[1];
  return goal === node.replaceAll(/\s+/g, "_").toLowerCase() ? { ...toldOf(handoff), to: node } : {};
}

function callsIn(message: unknown): JsonObject[] {
  if (!isMessage(message)) return [];
  return listOf(message.kwargs["tool_calls"]).map(contentOf).filter(isObject);
}

/** A call, and the subagent that deepagents' `task` names in it. */
function toldOf({ id, name, args }: JsonObject): { readonly call?: ToolCall; readonly to?: string } {
  if (typeof name !== "string") return {};
  const { subagent_type: to } = Object(contentOf(args)) as { subagent_type?: unknown };
  const call = { name, ...(typeof id === "string" ? { id } : {}) };
  return { call, ...(name === "task" && typeof to === "string" ? { to } : {}) };
}

/** The name under which an agent speaks: `createAgent({ name })` puts it into each of its messages. */
function speakerIn(messages: unknown): string | undefined {
  const spoken = listOf(messages).findLast(
    (message) => isMessage(message) && String(message.id.at(-1)).startsWith("AI"),
  );
  const name = isMessage(spoken) ? spoken.kwargs["name"] : undefined;
  return typeof name === "string" && name !== "" && name !== unnamed ? name : undefined;
}

function listOf(value: unknown): unknown[] {
  const list = contentOf(value);
  return Array.isArray(list) ? (list as unknown[]) : [];
}
