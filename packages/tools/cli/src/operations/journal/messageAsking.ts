import type { TierSaver } from "@stratigraph/core";
import type { RecordedCall } from "@stratigraph/journal";
import { contentOf, idOf, isMessage, isObject, type Message } from "../values/records.ts";
import { State } from "../values/state.ts";
import { jsonOf } from "../values/view.ts";

/** The id of the message that asked for a call; undefined if none did, or it isn't there any more. */
export async function messageAsking(
  saver: TierSaver,
  threadId: string,
  { checkpoint, namespace = "", issuer, toolCallId }: RecordedCall["where"],
): Promise<string | undefined> {
  const from = namespace === "" ? checkpoint : issuer;
  if (from === undefined || toolCallId === undefined) return undefined;
  const messages = await messagesAt(saver, { threadId, namespace, checkpointId: from });
  return idOf(messages.find((message) => callIds(message).includes(toolCallId)));
}

/** The id of the newest message of a model at a thread's head. */
export async function newestMessage(saver: TierSaver, threadId: string): Promise<string | undefined> {
  const messages = await messagesAt(saver, { threadId });
  return idOf(
    messages.findLast((message) => String(message.id.at(-1)).startsWith("AI") && idOf(message) !== undefined),
  );
}

async function messagesAt(saver: TierSaver, point: Parameters<typeof State.read>[1]): Promise<Message[]> {
  const state = await State.read(saver, point);
  const found: Message[] = [];
  for (const name of state.channels()) {
    const channel = await state.channel(name);
    const value = channel === undefined ? undefined : jsonOf(channel.stored)?.value;
    if (Array.isArray(value)) found.push(...(value as unknown[]).filter(isMessage));
  }
  return found;
}

function callIds({ kwargs }: Message): unknown[] {
  const calls = kwargs["tool_calls"];
  if (!Array.isArray(calls)) return [];
  return calls.map((call: unknown) => {
    const content = contentOf(call);
    return isObject(content) ? content["id"] : undefined;
  });
}
