import { randomUUID } from "node:crypto";
import * as langchain from "@langchain/core/messages";
import * as langgraph from "@langchain/langgraph";
import { MemorySaver, type Tier } from "@stratigraph/core";
import type { AppendRequest, AppendWritesRequest } from "@stratigraph/core/tier";
import { conversations } from "../recording.ts";
import { replay } from "../replay.ts";

/** One write of a thread, as the saver gives it to its tier. */
type RecordedWrite = { readonly append: AppendRequest } | { readonly writes: AppendWritesRequest };

/** All writes of a thread, turn by turn. */
export type RecordedAppends = readonly (readonly RecordedWrite[])[];

/**
 * Plays two conversations on one thread through a compiled graph, and keeps what the saver writes, up to so many checkpoints. The
 * bytes name no thread, so that any number of threads can be made of them.
 */
export async function recordAppends(
  file: string,
  position: number,
  checkpoints: number,
): Promise<RecordedAppends> {
  const saver = new MemorySaver();
  const turns: RecordedWrite[][] = [];
  let left = checkpoints;
  const { tier } = saver;
  const append = tier.append.bind(tier);
  const appendWrites = tier.appendWrites.bind(tier);
  tier.append = async (request) => {
    left -= request.records.length;
    if (left >= 0) turns.at(-1)?.push({ append: request });
    return await append(request);
  };
  tier.appendWrites = async (request) => {
    if (left > 0) turns.at(-1)?.push({ writes: request });
    await appendWrites(request);
  };
  const messagesAt = conversations(file, langchain);
  const messages = [...messagesAt(2 * position), ...messagesAt(2 * position + 1)];
  for (const [n, message] of messages.entries()) message.id = `m${n}`;
  const thread = replay(messages, saver, langgraph);
  const isShort = (): boolean => left > 0;
  do turns.push([]);
  while (isShort() && (await thread.turn()));
  if (left > 0) throw new Error(`conversations ${2 * position} and the next have too few checkpoints`);
  return turns.filter((turn) => turn.length > 0);
}

/** Writes one turn of a recording to a thread of another name, as a run of its own. */
export async function replayTurn(
  tier: Tier,
  turn: RecordedAppends[number],
  threadId: string,
  term: number,
): Promise<void> {
  const runId = randomUUID();
  for (const write of turn) {
    if ("writes" in write) {
      await tier.appendWrites({ ...write.writes, threadId });
      continue;
    }
    const { append } = write;
    await tier.append({
      ...append,
      threadId,
      // A term that only this thread has, as a user's id would be: otherwise the index of terms would be smaller than in use.
      records: append.records.map((record) => ({
        ...record,
        threadId,
        runId,
        terms: [...record.terms, term],
      })),
      writes: append.writes?.map((batch) => ({ ...batch, threadId })),
    });
  }
}
