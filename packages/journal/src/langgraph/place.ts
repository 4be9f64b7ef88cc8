// long file: all that tells how two places stand to each other
import type { TierSaver } from "@stratigraph/core";
import type { DecodedBody } from "@stratigraph/core/internal";
import type { MaybeAddress } from "@stratigraph/core/tier";
import type { Where } from "../log/entry.ts";
import { originsOf } from "../log/origins.ts";
import { isStored } from "./isStored.ts";

/** A graph on the way from the root graph to a task: the checkpoint from which its step began, and the task of it. */
interface Level {
  readonly namespace: string;
  readonly checkpoint: string | undefined;
  readonly task: string | undefined;
}

/** The names of subgraphs' tasks in a namespace, from the root on. A number counts the subgraphs that one task calls. */
export function hopsOf(namespace: string): string[] {
  const hops: string[] = [];
  for (const segment of namespace === "" ? [] : namespace.split("|"))
    if (/^\d+$/.test(segment) && hops.length > 0) hops.push(`${hops.pop()}|${segment}`);
    else hops.push(segment);
  return hops;
}

/** Channels whose values say that a node is due. */
const isDue = /^(__start__$|__pregel_tasks$|branch:to:)/;

/** A task of a graph, without the count of its subgraphs. */
function withoutCount(task: string | undefined): string | undefined {
  return task?.split("|", 1)[0];
}

/** The graphs on the way to a task, the root graph first. */
function levelsOf({ checkpoint, namespace = "", issuer, via = [], task }: Where): Level[] {
  const hops = hopsOf(namespace);
  const checkpoints = hops.length === 0 ? [checkpoint] : [checkpoint, ...via, issuer];
  return checkpoints.map((from, n) => ({
    namespace: hops.slice(0, n).join("|"),
    checkpoint: from,
    task: n < hops.length ? hops[n] : task,
  }));
}

/** The node of a graph on the way to a place: that of the place, or the one that runs the subgraph in which it is. */
function nodeAt(levels: readonly Level[], n: number, { node = "" }: Where): string {
  return levels[n + 1] === undefined ? node : levels[n]!.task!.split(":", 1)[0]!;
}

/** How a place in which a call was made stands to the place in which one is made now. */
export type Relation =
  /** It is the same task of the same step. */
  | "here"
  /** It is another task of a step that hasn't ended. */
  | "beside"
  /**
   * It is a run of the same subgraph by the same task, and ended. LangGraph counts the subgraphs of a task, and goes on counting where the
   * task is retried: so it may be an earlier attempt of this run, or another run of this attempt.
   */
  | "again"
  /** The run has gone on from it since, to here. */
  | "past"
  /**
   * Its node isn't due any more, and nothing but edits of the state lies between: somebody ended its step by hand, in the node's name, or
   * the node was renamed, and is the one that makes the call now.
   */
  | "ended or renamed"
  /** It is on another branch, or the run came back before it had ended. */
  | "elsewhere"
  /** It is in another thread of the same journal, which has gone its own way: a transaction, and the thread that it is on. */
  | "apart";

/** Tells how places stand to the one in which a call is made. What was read for one is known for the next. */
export class Place {
  readonly #saver: TierSaver;
  readonly #threadId: string;
  readonly #journal: string;
  readonly #where: Where;
  readonly #isNamed: boolean;
  readonly #apart = new Map<string, Promise<boolean>>();
  readonly #levels: readonly Level[];
  readonly #pasts = new Map<string, Past>();
  /** How many levels are those of the call around this one, which is a repetition wherever it is made again. */
  readonly #around: number;

  /**
   * @param journal the thread whose journal it is
   * @param around the task that makes the call around this one, if there is one
   * @param isNamed whether `callScope` names the task, or the run of its subgraph
   */
  constructor(
    saver: TierSaver,
    threadId: string,
    journal: string,
    where: Where,
    around: string | undefined,
    isNamed: boolean,
  ) {
    this.#saver = saver;
    this.#threadId = threadId;
    this.#journal = journal;
    this.#where = where;
    this.#isNamed = isNamed;
    this.#levels = levelsOf(where);
    const at = this.#levels.findIndex(({ task = "" }) => around !== undefined && task.includes(around));
    this.#around = at + 1;
  }

  async relationOf(there: Where): Promise<Relation> {
    const relation = await this.#relationOf(there);
    return relation === "elsewhere" && (await this.#isApart(there)) ? "apart" : relation;
  }

  /** Whether a place is in a thread that shares the journal, and has checkpoints of its own since one was forked from the other. */
  async #isApart({ thread, checkpoint = "" }: Where): Promise<boolean> {
    if (thread === this.#where.thread) return false;
    const other = thread ?? this.#journal;
    const key = JSON.stringify([other, checkpoint]);
    const known = this.#apart.get(key) ?? this.#looksApart(other, checkpoint);
    this.#apart.set(key, known);
    return await known;
  }

  async #looksApart(other: string, checkpointId: string): Promise<boolean> {
    const { tier } = this.#saver;
    if (await isStored(tier, { threadId: this.#threadId, namespace: "", checkpointId })) return false;
    // A transaction's thread is gone once it was rolled back.
    if ((await tier.peek({ threadId: other, namespace: "" })).head === undefined) return true;
    const [ours, theirs] = await Promise.all(
      [this.#threadId, other].map(async (id) => [id, ...(await originsOf(this.#saver, id))]),
    );
    return ours!.some((id) => theirs!.includes(id));
  }

  async #relationOf(there: Where): Promise<Relation> {
    // A fork has the checkpoints of its source, under the same ids.
    const isSameThread = there.thread === this.#where.thread;
    const levels = levelsOf(there);
    for (const [n, here] of this.#levels.entries()) {
      const level = levels[n];
      if (level === undefined || level.namespace !== here.namespace) return "elsewhere";
      if (level.checkpoint !== here.checkpoint) {
        if (n < this.#around) return "elsewhere";
        const past = this.#past(here);
        if (await past.has(level.checkpoint)) return "past";
        if (!past.onlyEdited(level.checkpoint)) return "elsewhere";
        const [node, asking] = [nodeAt(levels, n, there), nodeAt(this.#levels, n, this.#where)];
        return await this.#afterEdits(here, level.checkpoint!, node, asking);
      }
      if (!isSameThread) return "elsewhere";
      if (level.task !== here.task) {
        if (n < this.#around) return "elsewhere";
        if (levels[n + 1] === undefined || withoutCount(level.task) !== withoutCount(here.task))
          return "beside";
        // A run that is named tells itself that it is the one of before.
        return this.#isNamed || (await this.#brokeOff(levels[n + 1]!)) ? "elsewhere" : "again";
      }
    }
    return "here";
  }

  /** Whether a subgraph has steps left to do, as its task failed. */
  async #brokeOff({ namespace }: Level): Promise<boolean> {
    const newest = await this.#bodyAt(namespace, undefined);
    return newest !== undefined && (await this.#isAnyDue(newest, (channel) => isDue.test(channel)));
  }

  /**
   * What an edit did to a step that hadn't ended: a call of a node in it is asked for again, unless the edit was made in the node's name.
   * LangGraph doesn't say in whose. But it notes each node that has run.
   */
  async #afterEdits(
    { namespace, checkpoint }: Level,
    from: string,
    node: string,
    asking: string,
  ): Promise<Relation> {
    if (node === asking) return "elsewhere";
    const [before, now] = await Promise.all([from, checkpoint].map((id) => this.#bodyAt(namespace, id)));
    if (before === undefined || now === undefined) return "elsewhere";
    const isOfNode = (channel: string): boolean =>
      channel === `branch:to:${node}` || channel === "__pregel_tasks";
    if (await this.#isAnyDue(now, isOfNode)) return "elsewhere";
    const hasRun = ({ header }: DecodedBody, name: string): boolean =>
      Object.hasOwn(header.versions_seen, name);
    // A node that ran before under its name wasn't renamed, and an edit in the name of one that never ran is noted as its run.
    const names = Object.keys(now.header.versions_seen).filter((name) => !name.startsWith("__"));
    const isInANewName = names.some((name) => !hasRun(before, name));
    if (isInANewName || hasRun(before, asking)) return "past";
    return hasRun(before, node) ? "ended or renamed" : "elsewhere";
  }

  /** What is stored of a checkpoint, in a fork also where only its source has it, or of the newest one of a namespace. */
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

  /** Whether a channel is filled that says that a node is due. */
  async #isAnyDue({ manifest }: DecodedBody, counts: (channel: string) => boolean): Promise<boolean> {
    for (const { channel, value } of manifest.values())
      if (value !== undefined && counts(channel) && !(await this.#isEmpty(value))) return true;
    return false;
  }

  /** Whether a channel holds an empty list: that of `Send`s is there behind the last step, too. */
  async #isEmpty(value: object): Promise<boolean> {
    // Short values stand in the record itself.
    if (!("bytes" in value && "type" in value)) return false;
    const held = await this.#saver.serde.loadsTyped(value.type as string, value.bytes as Uint8Array);
    return Array.isArray(held) && held.length === 0;
  }

  #past({ namespace, checkpoint = "" }: Level): Past {
    const known = this.#pasts.get(namespace);
    if (known !== undefined) return known;
    const at = { thread_id: this.#threadId, checkpoint_ns: namespace, checkpoint_id: checkpoint };
    const past = new Past(this.#saver, at);
    this.#pasts.set(namespace, past);
    return past;
  }
}

interface Configurable {
  readonly thread_id: string;
  readonly checkpoint_ns: string;
  readonly checkpoint_id: string;
}

/** What a graph has gone through before a step. */
class Past {
  readonly #saver: TierSaver;
  readonly #at: {
    readonly thread_id: string;
    readonly checkpoint_ns: string;
    readonly checkpoint_id: string;
  };
  #ancestors: ReturnType<TierSaver["lineage"]>;
  /** The threads that the thread was forked from, nearest first, as far as they weren't looked at; undefined before they are known. */
  #origins: string[] | undefined;
  /** Checkpoints on the way back, and whether a step that began there has ended since. */
  readonly #passed = new Map<string, boolean>();
  #hasStepped = false;
  /** What the last one on the way back continues; undefined before the first one, and behind the beginning. */
  #next: string | undefined;
  /** The last one that was found. */
  #oldest: string;
  #isRead = false;

  constructor(saver: TierSaver, at: Configurable) {
    this.#saver = saver;
    this.#at = at;
    this.#next = at.checkpoint_id;
    this.#oldest = at.checkpoint_id;
    this.#ancestors = saver.lineage({ configurable: at });
  }

  /** Whether a step that began from a checkpoint has ended, and the run gone on from it to here. */
  async has(checkpointId: string | undefined): Promise<boolean> {
    if (checkpointId === undefined) return false;
    for (;;) {
      const passed = this.#passed.get(checkpointId);
      if (passed !== undefined) return passed;
      if (this.#isRead) break;
      await this.#goBack();
    }
    // What was pruned, or isn't in a fork, can't be seen. What is older may be an ancestor, and nobody can go back to it: it is past. Ids
    // of checkpoints begin with the time.
    const isGone = this.#next !== undefined && !(await this.#isStored(checkpointId));
    return isGone && checkpointId < this.#oldest;
  }

  /** Whether a checkpoint lies on the way back, and no step ended since. */
  onlyEdited(checkpointId: string | undefined): boolean {
    return this.#passed.get(checkpointId ?? "") === false;
  }

  async #goBack(): Promise<void> {
    const { value, done } = await this.#ancestors.next();
    if (done === true) {
      // A fork has only the checkpoints that it needs. Its source has the others.
      this.#origins ??= this.#next === undefined ? [] : await originsOf(this.#saver, this.#at.thread_id);
      const source = this.#origins.shift();
      if (this.#next === undefined || source === undefined) this.#isRead = true;
      else {
        const at = { ...this.#at, thread_id: source, checkpoint_id: this.#next };
        this.#ancestors = this.#saver.lineage({ configurable: at });
      }
      return;
    }
    this.#oldest = value.checkpointId;
    this.#passed.set(value.checkpointId, this.#hasStepped);
    this.#next = value.parentId;
    this.#hasStepped ||= await value.endsStep();
  }

  async #isStored(checkpointId: string): Promise<boolean> {
    const { thread_id: threadId, checkpoint_ns: namespace } = this.#at;
    return await isStored(this.#saver.tier, { threadId, namespace, checkpointId });
  }
}
