import type { CheckpointTuple } from "@langchain/langgraph-checkpoint";
import type { TierSaver } from "@stratigraph/core";
import { describing } from "../identity/canonical.ts";
import type { Digest } from "../identity/fingerprint.ts";
import type { Entry, JournalEvent } from "../log/entry.ts";
import { decodeEntry } from "../log/records.ts";
import type { Sealing } from "../log/sealing.ts";
import type { CheckpointConfig } from "./at.ts";
import { findMessage, type SeenCall, type SeenMessage } from "./findMessage.ts";
import { firstThere, storedHead, walk } from "./walk.ts";

/** An entry about a decision on a call, or about its outcome. */
export interface Decision {
  /** Number of the entry. */
  readonly seq: number;
  readonly at: Date;
  readonly author?: string | undefined;
  /** What happened. If the event has them: who decided (`by`), why (`reason`), and whether a call happened (`happened`). */
  readonly event: JournalEvent;
}

/** A call that a model asked for, and its outcome. */
export interface ExplainedCall {
  /** The id that the model gave it. */
  readonly toolCallId: string | undefined;
  /** The message that asked for it. */
  readonly messageId: string | undefined;
  readonly tool: string;
  readonly args: unknown;
  /** The content of the message that answered it, as a model sees it. Undefined if none did yet. */
  readonly result: unknown;
  /** Fingerprints of the recorded calls that match it: none if it wasn't made through the journal, or was cut off. */
  readonly fingerprints: readonly Digest[];
  /**
   * How they were found: by the model's id or, if the journal doesn't have that, by tool and arguments. The latter may find an equal call
   * elsewhere.
   */
  readonly foundBy: "id" | "content" | "nothing";
  /** The checkpoints from whose steps it was made. */
  readonly checkpoints: readonly string[];
  /** Denials, approvals, claims, outcomes and resolutions, oldest first. */
  readonly decisions: readonly Decision[];
}

/** What a model had seen when it made a message. It doesn't show why the model chose what it did: nobody can. */
export interface Provenance {
  readonly message: SeenMessage;
  /** The first checkpoint that has the message. */
  readonly checkpoint: CheckpointConfig;
  /** The checkpoint from which the step that made it began: its state is the model's input. Undefined if there is none. */
  readonly from: CheckpointConfig | undefined;
  /** "loop": a step of the graph made it; "input": the run's input; "update", "fork": somebody put it there. */
  readonly source: string;
  /** All messages in the state that was the model's input, in their order. A node or a middleware may have left some out. */
  readonly context: readonly SeenMessage[];
  /** Those of them that came from outside: neither a model's nor a tool's. */
  readonly inputs: readonly SeenMessage[];
  /** The calls that earlier messages of a model asked for, with their results and decisions. */
  readonly calls: readonly ExplainedCall[];
  /** The calls that this message asks for. */
  readonly asks: readonly ExplainedCall[];
}

/** Finds what was in the context of the model that made a message. @throws NotFoundError */
export async function provenanceOf(
  saver: TierSaver,
  threadId: string,
  sealing: Sealing,
  messageId: string,
): Promise<Provenance> {
  const { message, made, from, seen } = await findMessage(saver, threadId, messageId);
  const records = await recordsOf(saver, threadId);
  const answers = new Map(
    seen.flatMap((each) => (each.tool_call_id === undefined ? [] : [[each.tool_call_id, each.content]])),
  );
  const explain = (asking: SeenMessage): ExplainedCall[] =>
    (asking.tool_calls ?? []).map((call) => explained(asking, call, answers, records, sealing));
  return {
    message,
    checkpoint: configOf(made, threadId),
    from: from && configOf(from, threadId),
    // An input gets into its channels by the step after the checkpoint that holds it.
    source: (from?.metadata?.source === "input" ? "input" : made.metadata?.source) ?? "loop",
    context: seen,
    inputs: seen.filter((each) => !["ai", "tool"].includes(each.getType())),
    calls: seen.flatMap(explain),
    asks: explain(message),
  };
}

interface Records {
  readonly byCall: ReadonlyMap<Digest, readonly Entry[]>;
  /** By the ids that models gave calls. */
  readonly byId: ReadonlyMap<string, ReadonlySet<Digest>>;
}

async function recordsOf(saver: TierSaver, threadId: string): Promise<Records> {
  const byCall = new Map<Digest, Entry[]>();
  const byId = new Map<string, Set<Digest>>();
  const to = (await storedHead(saver, threadId)).seq ?? 0;
  const from = await firstThere(saver, threadId, to);
  for await (const { record } of walk(saver, threadId, { from, to, recordsOnly: true })) {
    const entry = await decodeEntry(saver, record);
    const { event } = entry;
    if (!("call" in event)) continue;
    byCall.set(event.call, [...(byCall.get(event.call) ?? []), entry]);
    const id = "where" in event ? event.where.toolCallId : undefined;
    if (id !== undefined) byId.set(id, (byId.get(id) ?? new Set()).add(event.call));
  }
  return { byCall, byId };
}

function explained(
  { id: messageId }: SeenMessage,
  { id, name, args }: SeenCall,
  answers: ReadonlyMap<string, unknown>,
  { byCall, byId }: Records,
  sealing: Sealing,
): ExplainedCall {
  const named = byId.get(id ?? "");
  const fingerprints = [...(named ?? alike(name, args, byCall, sealing))];
  const entries = fingerprints
    .flatMap((call) => [...(byCall.get(call) ?? []), ...firstOnes(call, byCall)])
    .toSorted((a, b) => a.seq - b.seq);
  const checkpoints = entries.flatMap(({ event }) =>
    "where" in event ? (event.where.checkpoint ?? []) : [],
  );
  return {
    toolCallId: id,
    messageId,
    tool: name,
    args,
    result: answers.get(id ?? ""),
    fingerprints,
    foundBy: named !== undefined ? "id" : fingerprints.length > 0 ? "content" : "nothing",
    checkpoints: [...new Set(checkpoints)],
    decisions: entries.map(({ seq, at, author, event }) => ({ seq, at: new Date(at), author, event })),
  };
}

/** Entries about the call that this one was a repetition of. */
function firstOnes(call: Digest, byCall: Records["byCall"]): readonly Entry[] {
  return (byCall.get(call) ?? []).flatMap(({ event }) =>
    event.type === "repeats" ? (byCall.get(event.of) ?? []) : [],
  );
}

/** Recorded calls of a tool with certain arguments: results may have been given under ids that weren't recorded. */
function alike(tool: string, args: unknown, byCall: Records["byCall"], sealing: Sealing): Digest[] {
  const text = describing(args);
  return [...byCall].flatMap(([call, entries]) => {
    const isAlike = entries.some(
      ({ event, keyId }) =>
        "argsHash" in event && event.tool === tool && event.argsHash === hashOrNone(sealing, text, keyId),
    );
    return isAlike ? [call] : [];
  });
}

function hashOrNone(sealing: Sealing, text: string, keyId: string | undefined): string | undefined {
  try {
    return sealing.hash(text, keyId ?? null);
  } catch {
    // It is signed with a key that isn't available.
    return undefined;
  }
}

function configOf({ config }: CheckpointTuple, threadId: string): CheckpointConfig {
  const { checkpoint_ns: namespace, checkpoint_id: id } = config.configurable as Record<
    string,
    string | undefined
  >;
  return { configurable: { thread_id: threadId, checkpoint_ns: namespace ?? "", checkpoint_id: id ?? "" } };
}
