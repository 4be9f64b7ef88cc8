import type { TierSaver } from "@stratigraph/core";
import type { DecodedBody } from "@stratigraph/core/internal";
import type { MaybeAddress } from "@stratigraph/core/tier";
import { originsOf } from "../log/origins.ts";

/** How a node's call relates, after an edit of the state, to an equal call that another node makes now. */
export type AfterEdit = "past" | "ended or renamed" | "elsewhere";

/** Channels whose values show that a node is due. */
const isDue = /^(__start__$|__pregel_tasks$|branch:to:)/;

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
    const [before, now] = await Promise.all([from, to].map((id) => this.#bodyAt(namespace, id)));
    if (before === undefined || now === undefined) return "elsewhere";
    const due = (channel: string): boolean => channel === `branch:to:${node}` || channel === "__pregel_tasks";
    if (!hasRun(before, node) && hasRun(now, node)) return "past";
    if (!(await this.#isAnyDue(before, due)) || (await this.#isAnyDue(now, due))) return "elsewhere";
    // A node that ran earlier under its name wasn't renamed. An edit in the name of a node that never ran is noted as its run.
    const names = Object.keys(now.header.versions_seen).filter((name) => !name.startsWith("__"));
    const isInANewName = names.some((name) => !hasRun(before, name));
    if (isInANewName || hasRun(before, asking)) return "past";
    return hasRun(before, node) ? "ended or renamed" : "elsewhere";
  }

  /** Whether a subgraph has steps left to do, because its task failed. */
  async brokeOff(namespace: string): Promise<boolean> {
    const newest = await this.#bodyAt(namespace, undefined);
    return newest !== undefined && (await this.#isAnyDue(newest, (channel) => isDue.test(channel)));
  }

  /** The stored content of a checkpoint, or of the newest one of a namespace. Found in a fork even if only its source has it. */
  async #bodyAt(namespace: string, checkpointId: string | undefined): Promise<DecodedBody | undefined> {
    const at = { namespace, ...(checkpointId === undefined ? {} : { checkpointId }) };
    const own = await this.#bodyIn({ ...at, threadId: this.#threadId });
    if (own !== undefined || checkpointId === undefined) return own;
    for (const threadId of await originsOf(this.#saver, this.#threadId)) {
      const found = await this.#bodyIn({ ...at, threadId });
      if (found !== undefined) return found;
    }
    return undefined;
  }

  async #bodyIn(at: MaybeAddress): Promise<DecodedBody | undefined> {
    for await (const { record } of this.#saver.tier.list({ ...at, recordsOnly: true, limit: 1 }))
      return await this.#saver.coder.decodeBody(record);
    return undefined;
  }

  /** Whether a channel that shows that a node is due has a value. */
  async #isAnyDue({ manifest }: DecodedBody, counts: (channel: string) => boolean): Promise<boolean> {
    for (const { channel, value } of manifest.values())
      if (value !== undefined && counts(channel) && !(await this.#isEmpty(value))) return true;
    return false;
  }

  /** Whether a channel holds an empty list: the channel of `Send`s exists after the last step, too. */
  async #isEmpty(value: object): Promise<boolean> {
    // Short values are in the record itself.
    if (!("bytes" in value && "type" in value)) return false;
    const held = await this.#saver.serde.loadsTyped(value.type as string, value.bytes as Uint8Array);
    return Array.isArray(held) && held.length === 0;
  }
}

function hasRun({ header }: DecodedBody, node: string): boolean {
  return Object.hasOwn(header.versions_seen, node);
}
