import { randomBytes } from "node:crypto";
import { emptyCheckpoint } from "@langchain/langgraph-checkpoint";
import type { TierSaver } from "@stratigraph/core";
import { reservedNamespaces, type AppendRequest } from "@stratigraph/core/tier";

const namespace = reservedNamespaces.calls;

/** The size of each event's value in bytes: too large to be stored in the record itself. */
const valueBytes = 600;

/** Writes and reads chains of tool calls as `@stratigraph/journal` does: one record per event, whose parent is the previous event. */
export class CallChain {
  readonly #saver: TierSaver;
  readonly #threadId: string;

  constructor(saver: TierSaver, threadId: string) {
    this.#saver = saver;
    this.#threadId = threadId;
  }

  /** Appends events. @param shared a value that something else in the thread has too @returns their ids, oldest first */
  async add(count: number, shared?: unknown): Promise<string[]> {
    const added: string[] = [];
    for (let n = 0; n < count; n += 1) {
      const request = await this.next(shared);
      await this.#saver.tier.append(request);
      added.push(request.records[0]!.checkpointId);
    }
    return added;
  }

  /** The request that appends one more event. It is refused if another one comes first, or the thread is deleted meanwhile. */
  async next(shared: unknown = null): Promise<AppendRequest> {
    const { tier, coder } = this.#saver;
    const threadId = this.#threadId;
    const { head, revision } = await tier.peek({ threadId, namespace });
    const seq = head === undefined ? 0 : Number.parseInt(head.slice(0, 12), 16) + 1;
    const checkpointId = `${seq.toString(16).padStart(12, "0")}-${randomBytes(8).toString("hex")}`;
    const value = { seq, result: randomBytes(valueBytes).toString("hex") };
    const checkpoint = {
      ...emptyCheckpoint(),
      id: checkpointId,
      channel_values: { value, shared },
      channel_versions: { value: 1, shared: 1 },
    };
    const { record, blobs } = await coder.encode(
      { threadId, namespace, checkpointId },
      { parentId: head, parent: undefined, again: undefined },
      {
        checkpoint,
        metadata: { source: "loop", step: seq, parents: {} },
        newVersions: checkpoint.channel_versions,
        runId: undefined,
      },
    );
    const heads = [{ namespace, to: checkpointId, expected: head === undefined ? [] : [head] }];
    return { threadId, records: [record], blobs, heads, onConflict: "refuse", seen: revision };
  }

  /** Reads and decodes the values of all events, from the head back to the first. Returns the events' ids in that order. */
  async read(): Promise<string[]> {
    const { tier, coder } = this.#saver;
    const threadId = this.#threadId;
    const found: string[] = [];
    let { head: at } = await tier.peek({ threadId, namespace });
    while (at !== undefined) {
      const { checkpoint } = await tier.read({ threadId, namespace, checkpointId: at });
      if (checkpoint === undefined) throw new Error(`event ${at} isn't there any more`);
      const { channel_values } = await coder.checkpoint(
        checkpoint,
        await coder.decodeBody(checkpoint.record),
        {},
      );
      const { seq } = channel_values["value"] as { seq: number };
      if (seq !== Number.parseInt(at.slice(0, 12), 16))
        throw new Error(`event ${at} has the value of event ${seq}`);
      found.push(at);
      at = checkpoint.record.parentId;
    }
    return found;
  }
}
