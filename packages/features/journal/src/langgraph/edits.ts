import type { TierSaver } from "@stratigraph/core";
import { dueAt, isDueAt, type DecodedBody } from "@stratigraph/core/internal";
import type { CheckpointRecord, MaybeAddress } from "@stratigraph/core/tier";
import { originsOf } from "../log/origins.ts";

/** How a node's call relates, after an edit of the state, to an equal call that another node makes now. */
export type AfterEdit = "past" | "ended or renamed" | "elsewhere";

interface Stored {
  readonly record: CheckpointRecord;
  readonly body: DecodedBody;
}

/**
 * The effects of edits of a thread's state on the steps of its graphs. LangGraph doesn't record in whose name an edit was made, but it
 * notes each node that has run, and which nodes are due.
 */
export class Edits {
  readonly #saver: TierSaver;
  readonly #threadId: string;

  constructor(saver: TierSaver, threadId: string) {
    this.#saver = saver;
    this.#threadId = threadId;
  }

  /**
   * The effect of an edit on a node. A call of a node whose step hasn't ended is asked for again, unless the edit was made in the node's
   * name.
   * @param from the checkpoint that was edited
   * @param to the resulting checkpoint
   * @param asking the node that makes an equal call now, which may be the same node under a new name
   */
  async of(namespace: string, from: string, to: string, node: string, asking: string): Promise<AfterEdit> {
    const [before, now] = await Promise.all([from, to].map((id) => this.#storedAt(namespace, id)));
    if (before === undefined || now === undefined) return "elsewhere";
    if (!hasRun(before, node) && hasRun(now, node)) return "past";
    const isDue = async ({ record }: Stored) => (await dueAt(this.#saver, record)).includes(node);
    if (!(await isDue(before)) || (await isDue(now))) return "elsewhere";
    // A node that ran earlier under its name wasn't renamed. An edit in the name of a node that never ran is noted as its run.
    const names = Object.keys(now.body.header.versions_seen).filter((name) => !name.startsWith("__"));
    const isInANewName = names.some((name) => !hasRun(before, name));
    if (isInANewName || hasRun(before, asking)) return "past";
    return hasRun(before, node) ? "ended or renamed" : "elsewhere";
  }

  /** Whether a subgraph has steps left to do, because its task failed. */
  async brokeOff(namespace: string): Promise<boolean> {
    const newest = await this.#storedAt(namespace, undefined);
    return newest !== undefined && (await isDueAt(this.#saver, newest.record));
  }

  /** A checkpoint, or the newest one of a namespace. Found in a fork even if only its source has it. */
  async #storedAt(namespace: string, checkpointId: string | undefined): Promise<Stored | undefined> {
    const at = { namespace, ...(checkpointId === undefined ? {} : { checkpointId }) };
    const own = await this.#storedIn({ ...at, threadId: this.#threadId });
    if (own !== undefined || checkpointId === undefined) return own;
    for (const threadId of await originsOf(this.#saver, this.#threadId)) {
      const found = await this.#storedIn({ ...at, threadId });
      if (found !== undefined) return found;
    }
    return undefined;
  }

  async #storedIn(at: MaybeAddress): Promise<Stored | undefined> {
    for await (const { record } of this.#saver.tier.list({ ...at, recordsOnly: true, limit: 1 }))
      return { record, body: await this.#saver.coder.decodeBody(record) };
    return undefined;
  }
}

function hasRun({ body: { header } }: Stored, node: string): boolean {
  return Object.hasOwn(header.versions_seen, node);
}
