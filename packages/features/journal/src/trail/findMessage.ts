import type { CheckpointTuple } from "@langchain/langgraph-checkpoint";
import { NotFoundError, type TierSaver } from "@stratigraph/core";

/** A message of a graph's state, from any copy of langchain. */
export interface SeenMessage {
  readonly id?: string | undefined;
  readonly content: unknown;
  readonly tool_calls?: readonly SeenCall[] | undefined;
  readonly tool_call_id?: string | undefined;
  readonly status?: string | undefined;
  getType(): string;
}

/** A call that a message asks for. */
export interface SeenCall {
  readonly id?: string | undefined;
  readonly name: string;
  readonly args: unknown;
}

/** Where a message came into the thread. */
export interface MessageOrigin {
  readonly message: SeenMessage;
  /** The first checkpoint that has it. */
  readonly made: CheckpointTuple;
  /** The checkpoint before that one, from whose state the step that made the message began; undefined if it is gone. */
  readonly from: CheckpointTuple | undefined;
  /** The messages in that state. */
  readonly seen: readonly SeenMessage[];
}

/** Finds the step that made a message, in the root graph or a subgraph. @throws NotFoundError */
export async function findMessage(
  saver: TierSaver,
  threadId: string,
  messageId: string,
): Promise<MessageOrigin> {
  let made: CheckpointTuple | undefined;
  // Newest first: the last checkpoint that is found is the first one with the message.
  for await (const tuple of saver.list({ configurable: { thread_id: threadId } })) {
    if (messageIn(tuple, messageId) !== undefined) made = tuple;
    else if (made !== undefined && isParent(tuple, made)) break;
  }
  const message = made && messageIn(made, messageId);
  if (made === undefined || message === undefined)
    throw new NotFoundError(
      `Thread ${JSON.stringify(threadId)} has no checkpoint with a message of the id ${JSON.stringify(messageId)}. It may have been pruned.`,
      { threadId, messageId },
    );
  const from = made.parentConfig === undefined ? undefined : await saver.getTuple(made.parentConfig);
  return { message, made, from, seen: from === undefined ? [] : messagesOf(from) };
}

function isParent({ config }: CheckpointTuple, { parentConfig }: CheckpointTuple): boolean {
  const [own, parent] = [config.configurable, parentConfig?.configurable];
  return (
    parent !== undefined &&
    own?.["checkpoint_id"] === parent["checkpoint_id"] &&
    (own?.["checkpoint_ns"] ?? "") === (parent["checkpoint_ns"] ?? "")
  );
}

function messageIn(tuple: CheckpointTuple, messageId: string): SeenMessage | undefined {
  return messagesOf(tuple).find(({ id }) => id === messageId);
}

/** The messages in all channels, in each channel's order; a message in several channels is returned once. */
function messagesOf({ checkpoint }: CheckpointTuple): SeenMessage[] {
  const found = Object.entries(checkpoint.channel_values)
    // LangGraph's own channels, which hold inputs and the arguments of Sends.
    .filter(([channel]) => !channel.startsWith("__") && !channel.startsWith("branch:"))
    .flatMap(([, value]) => (Array.isArray(value) ? (value as unknown[]) : [value]))
    .filter(isMessage);
  return [...new Map(found.map((message, n) => [message.id ?? n, message])).values()];
}

function isMessage(value: unknown): value is SeenMessage {
  return (
    typeof value === "object" &&
    value !== null &&
    "content" in value &&
    typeof (value as { getType?: unknown }).getType === "function"
  );
}
