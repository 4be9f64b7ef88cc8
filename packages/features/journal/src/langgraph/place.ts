// long file: all that tells how two places stand to each other
import type { TierSaver } from "@stratigraph/core";
import type { Where } from "../log/entry.ts";
import { originsOf } from "../log/origins.ts";
import { Edits } from "./edits.ts";
import { isStored } from "./isStored.ts";
import { editsSince, Past, type Configurable } from "./past.ts";

/** A graph on the way from the root graph to a task: the checkpoint from which its step began, and its task. */
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

/** The node of a graph on the way to a place: that of the place itself, or the one that runs the subgraph with the place. */
function nodeAt(levels: readonly Level[], n: number, { node = "" }: Where): string {
  return levels[n + 1] === undefined ? node : levels[n]!.task!.split(":", 1)[0]!;
}

/** How the place of an earlier call relates to the place of the call that is made now. */
export type Relation =
  /** It is the same task of the same step. */
  | "here"
  /** It is another task of a step that hasn't ended. */
  | "beside"
  /**
   * It is a run of the same subgraph by the same task, and ended. LangGraph counts the subgraphs of a task, and keeps counting when the
   * task is retried: so it may be an earlier attempt of this run, or another run of this attempt.
   */
  | "again"
  /** The run has gone on from there to here. */
  | "past"
  /**
   * Its node isn't due any more, and only edits of the state lie between. Either somebody ended its step by hand, in the node's name; or
   * the node was renamed, and makes the call now.
   */
  | "ended or renamed"
  /** It is on another branch, or the run came back before it had ended. */
  | "elsewhere"
  /** It is in another thread of the same journal, which has gone its own way: a transaction, and the thread that it is on. */
  | "apart";

/** Finds out how places relate to the place of the call that is made now. What was read for one place is reused for the next. */
export class Place {
  readonly #saver: TierSaver;
  readonly #threadId: string;
  readonly #journal: string;
  readonly #where: Where;
  readonly #isNamed: boolean;
  readonly #apart = new Map<string, Promise<boolean>>();
  readonly #levels: readonly Level[];
  readonly #pasts = new Map<string, Past>();
  readonly #edits: Edits;
  /** How many levels are those of the surrounding call, which counts as a repetition wherever it is made again. */
  readonly #around: number;

  /**
   * @param journal the thread that has the journal
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
    this.#edits = new Edits(saver, threadId);
    this.#levels = levelsOf(where);
    const at = this.#levels.findIndex(({ task = "" }) => around !== undefined && task.includes(around));
    this.#around = at + 1;
  }

  async relationOf(there: Where): Promise<Relation> {
    const relation = await this.#relationOf(there);
    return relation === "elsewhere" && (await this.#isApart(there)) ? "apart" : relation;
  }

  /** Whether a place is in a thread that shares the journal, and has had checkpoints of its own since one was forked from the other. */
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
    // A transaction's thread is gone after a rollback.
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
        if (node === asking) return "elsewhere";
        return await this.#edits.of(here.namespace, level.checkpoint!, here.checkpoint!, node, asking);
      }
      if (!isSameThread) return "elsewhere";
      if (level.task !== here.task) {
        if (n < this.#around) return "elsewhere";
        if (levels[n + 1] === undefined || withoutCount(level.task) !== withoutCount(here.task))
          return "beside";
        // The name of a named run proves that it is the earlier run.
        const isOther = this.#isNamed || (await this.#edits.brokeOff(levels[n + 1]!.namespace));
        return isOther ? "elsewhere" : "again";
      }
    }
    return "here";
  }

  /**
   * The relation of a place that seemed to be on another branch, if the state was edited since the two branches parted: a result that
   * somebody entered by hand counts as a run of its node.
   */
  async behindEdits(there: Where): Promise<Relation> {
    const levels = levelsOf(there);
    const n = this.#levels.findIndex(({ checkpoint }, at) => levels[at]?.checkpoint !== checkpoint);
    const [here, other] = [this.#levels[n], levels[n]];
    if (here === undefined || here.namespace !== other?.namespace) return "elsewhere";
    const [node, asking] = [nodeAt(levels, n, there), nodeAt(this.#levels, n, this.#where)];
    if (node === asking) return "elsewhere";
    const { namespace } = here;
    const [ours, theirs] = await editsSince(
      this.#saver,
      configurableOf(this.#threadId, here),
      configurableOf(there.thread ?? this.#journal, other),
    );
    for (const { from, to } of ours) {
      const became = await this.#edits.of(namespace, from, to, node, asking);
      if (became !== "elsewhere") return became;
    }
    for (const { from, to } of theirs)
      if ((await this.#edits.of(namespace, from, to, asking, node)) !== "elsewhere")
        return "ended or renamed";
    return "elsewhere";
  }

  #past(level: Level): Past {
    const known = this.#pasts.get(level.namespace);
    if (known !== undefined) return known;
    const past = new Past(this.#saver, configurableOf(this.#threadId, level));
    this.#pasts.set(level.namespace, past);
    return past;
  }
}

function configurableOf(threadId: string, { namespace, checkpoint = "" }: Level): Configurable {
  return { thread_id: threadId, checkpoint_ns: namespace, checkpoint_id: checkpoint };
}
