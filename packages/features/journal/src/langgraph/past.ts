import type { Ancestor, TierSaver } from "@stratigraph/core";
import { originsOf } from "../log/origins.ts";
import { isStored } from "./isStored.ts";

/** A checkpoint of a graph, in LangGraph's terms. */
export interface Configurable {
  readonly thread_id: string;
  readonly checkpoint_ns: string;
  readonly checkpoint_id: string;
}

/** A checkpoint and its ancestors, nearest first. A fork has only those that it needs: its source has the others. */
async function* wayBack(saver: TierSaver, at: Configurable): AsyncGenerator<Ancestor, void> {
  let next: string | undefined = at.checkpoint_id;
  let origins: string[] | undefined;
  for (let threadId: string | undefined = at.thread_id; next !== undefined && threadId !== undefined;) {
    const configurable: Configurable = { ...at, thread_id: threadId, checkpoint_id: next };
    for await (const ancestor of saver.lineage({ configurable })) {
      next = ancestor.parentId;
      yield ancestor;
    }
    if (next === undefined) return;
    origins ??= await originsOf(saver, at.thread_id);
    threadId = origins.shift();
  }
}

/** A checkpoint that resulted from an edit of another one. */
interface Edit {
  readonly from: string;
  readonly to: string;
}

/** The checkpoints on two ways back, up to where the ways part, newest first, each with its way. */
async function* partedWays(
  saver: TierSaver,
  one: Configurable,
  other: Configurable,
): AsyncGenerator<readonly [side: 0 | 1, Ancestor]> {
  const ways = [wayBack(saver, one), wayBack(saver, other)] as const;
  const at = await Promise.all(ways.map((way) => way.next()));
  try {
    for (;;) {
      const [ours, theirs] = [at[0]!.value, at[1]!.value];
      if (!ours || !theirs || ours.checkpointId === theirs.checkpointId) return;
      // Ids of checkpoints begin with the time, so the newer one can't be on the other way.
      const side = ours.checkpointId > theirs.checkpointId ? 0 : 1;
      yield [side, side === 0 ? ours : theirs];
      at[side] = await ways[side].next();
    }
  } finally {
    await Promise.all(ways.map((way) => way.return()));
  }
}

/** The edits on two ways back, up to where the ways part, newest first. */
export async function editsSince(
  saver: TierSaver,
  one: Configurable,
  other: Configurable,
): Promise<readonly [Edit[], Edit[]]> {
  const edits: [Edit[], Edit[]] = [[], []];
  for await (const [side, { checkpointId: to, parentId: from, ...passed }] of partedWays(saver, one, other))
    if (from !== undefined && (await passed.ends()) === undefined) edits[side].push({ from, to });
  return edits;
}

/** Whether more inputs were given on the way to one checkpoint than on that to an older one, since the ways part. */
export async function hasMoreInputs(
  saver: TierSaver,
  one: Configurable,
  older: Configurable,
): Promise<boolean> {
  const { thread_id: threadId, checkpoint_ns: namespace, checkpoint_id: checkpointId } = older;
  let more = 0;
  if (await isStored(saver.tier, { threadId, namespace, checkpointId }))
    for await (const [side, passed] of partedWays(saver, one, older))
      more += (await passed.ends()) !== "input" ? 0 : side === 0 ? 1 : -1;
  // It was pruned: ids of checkpoints begin with the time.
  else
    for await (const passed of wayBack(saver, one))
      if (passed.checkpointId <= checkpointId) break;
      else if ((await passed.ends()) === "input") more += 1;
  return more > 0;
}

/** The steps that a graph ran before a given one. */
export class Past {
  readonly #saver: TierSaver;
  readonly #at: Configurable;
  readonly #way: AsyncGenerator<Ancestor, void>;
  /** Checkpoints on the way back, and whether a step that began there has ended since. */
  readonly #passed = new Map<string, boolean>();
  #hasStepped = false;
  /** The parent of the last checkpoint found on the way back; undefined beyond the beginning. */
  #next: string | undefined;
  /** The last checkpoint found. */
  #oldest: string;
  #isRead = false;

  constructor(saver: TierSaver, at: Configurable) {
    this.#saver = saver;
    this.#at = at;
    this.#next = at.checkpoint_id;
    this.#oldest = at.checkpoint_id;
    this.#way = wayBack(saver, at);
  }

  /** Whether a step that began from a checkpoint has ended, and the run has gone on from there to here. */
  async has(checkpointId: string | undefined): Promise<boolean> {
    if (checkpointId === undefined) return false;
    for (;;) {
      const passed = this.#passed.get(checkpointId);
      if (passed !== undefined) return passed;
      if (this.#isRead) break;
      await this.#goBack();
    }
    // A checkpoint that was pruned, or isn't in the fork, can't be seen. An older one may be an ancestor, and nobody can go back to it: it
    // is past. Ids of checkpoints begin with the time.
    const isGone = this.#next !== undefined && !(await this.#isStored(checkpointId));
    return isGone && checkpointId < this.#oldest;
  }

  /** Whether a checkpoint is on the way back, and no step has ended since. */
  onlyEdited(checkpointId: string | undefined): boolean {
    return this.#passed.get(checkpointId ?? "") === false;
  }

  async #goBack(): Promise<void> {
    const { value } = await this.#way.next();
    if (!value) {
      this.#isRead = true;
      return;
    }
    this.#oldest = value.checkpointId;
    this.#passed.set(value.checkpointId, this.#hasStepped);
    this.#next = value.parentId;
    this.#hasStepped ||= (await value.ends()) !== undefined;
  }

  async #isStored(checkpointId: string): Promise<boolean> {
    const { thread_id: threadId, checkpoint_ns: namespace } = this.#at;
    return await isStored(this.#saver.tier, { threadId, namespace, checkpointId });
  }
}
