// long file: all checks use the same view of a thread, and each check is short
import { isRootedMark, missingBatches } from "@stratigraph/core/internal";
import { checkpointKey, isReserved, reservedNamespaces, type Address } from "@stratigraph/core/tier";
import { fromTheFuture } from "./fromTheFuture.ts";
import { otherLives } from "./lives.ts";
import type { OwnerView } from "./ownerView.ts";
import { Suspicions, type Suspicion } from "./suspicion.ts";
import type { SeenCheckpoint } from "./threadScan.ts";

/**
 * Finds what is wrong with how the checkpoints of a thread are linked. All owners are looked at together: in a stack with an archive,
 * the parents of a checkpoint may be in the archive.
 *
 * A missing parent was usually pruned, or stayed behind when a fork or an import took only a part. It counts as lost (a gap) if
 * pruning would have left the thread in another state:
 * - Pruning removes a checkpoint's pending writes in the same step. If they are still there, the checkpoint was lost: an error,
 *   or a warning if all of them came after the last removal, as those of a late writer do.
 * - If an older line without an interrupt, whose end isn't a head, is still there, then pruning didn't remove the missing checkpoint:
 *   it would have removed that line first. So the checkpoint was lost, or only deleteForRuns() removed it: a warning. But at the last
 *   pruning that older line may have been the main line, and the missing checkpoint may have belonged to a line that was pruned and
 *   then continued. So this counts only if nothing was ever removed, or if the missing checkpoint already had a child at the last
 *   removal.
 * - If a head rebuilds a DeltaChannel from it, it was lost: pruning keeps what heads need. This is an error, as the head can't be read.
 * A checkpoint that no head needs and that was lost together with its pending writes and everything older looks like a pruned one.
 */
export function lineageSuspicions(owners: readonly OwnerView[], threadId: string): Suspicions {
  const suspicions = new Suspicions();
  const [main] = owners;
  if (main === undefined) return suspicions;
  const thread = new Lineage(owners, threadId);
  for (const view of owners) for (const each of fromTheFuture(view)) suspicions.add(each);
  // What seems to be missing may be just what a tier can't read.
  if (owners.some(({ scan }) => scan.partial)) return suspicions;
  for (const each of thread.order()) suspicions.add(each);
  for (const each of thread.heads()) suspicions.add(each);
  for (const each of thread.gaps()) suspicions.add(each);
  for (const each of thread.beginnings()) suspicions.add(each);
  for (const each of thread.lostWrites()) suspicions.add(each);
  return suspicions;
}

class Lineage {
  readonly #threadId: string;
  readonly #owners: readonly OwnerView[];
  readonly #main: OwnerView;
  readonly #seen = new Map<string, SeenCheckpoint>();
  readonly #children = new Map<string, SeenCheckpoint[]>();
  readonly #heads: ReadonlyMap<string, string>;
  /** Whether checkpoints may be missing because their bytes were evicted. */
  readonly #evicted: boolean;

  constructor(owners: readonly OwnerView[], threadId: string) {
    this.#threadId = threadId;
    this.#owners = owners;
    this.#main = owners[0]!;
    for (const { scan } of owners.toReversed())
      for (const [key, checkpoint] of scan.seen) this.#seen.set(key, this.#withMarks(key, checkpoint));
    for (const checkpoint of this.#seen.values()) {
      if (checkpoint.parentId === undefined) continue;
      const key = keyOf(checkpoint.namespace, checkpoint.parentId);
      const siblings = this.#children.get(key);
      if (siblings === undefined) this.#children.set(key, [checkpoint]);
      else siblings.push(checkpoint);
    }
    this.#heads = this.#main.inspection?.heads ?? this.#main.scan.heads;
    this.#evicted = owners.length === 1 && this.#main.inspection?.evicted === true;
  }

  *order(): Generator<Suspicion> {
    for (const child of this.#seen.values()) {
      const { parentId, checkpointId, namespace, intact } = child;
      if (isReserved(namespace) || !intact || parentId === undefined || checkpointId > parentId) continue;
      yield this.#found({
        kind: "order",
        severity: "warning",
        part: "record",
        checkpoint: child,
        detail: `Its parent is ${parentId}.`,
        involved: [child],
        meaning:
          "Its id doesn't come after its parent's, so that lists show it in the wrong place: clocks of two machines differed.",
      });
    }
  }

  *heads(): Generator<Suspicion> {
    for (const [namespace, checkpointId] of this.#heads) {
      if (isReserved(namespace)) continue;
      const at: Address = { threadId: this.#threadId, namespace, checkpointId };
      const head = this.#seen.get(checkpointKey(at));
      if (head === undefined) {
        if (this.#evicted) continue;
        yield this.#found({
          kind: "wrong-head",
          severity: "error",
          part: "head",
          checkpoint: at,
          target: this.#newest(namespace)?.checkpointId,
          involved: [at],
          meaning: this.#whyHeadless(),
        });
        continue;
      }
      const next = this.#newestChild(head);
      if (next !== undefined) yield this.#behind(head, this.#tip(next), next);
      else if (head.lostTo !== undefined) yield this.#onSideBranch(head);
    }
    yield* this.#headless();
  }

  /** What it means that a head names a checkpoint that isn't there. */
  #whyHeadless(): string {
    const [, archive] = this.#owners;
    return archive !== undefined && this.#heads.has(reservedNamespaces.archived)
      ? `The head was archived, and tier ${archive.place.name} doesn't have it: nobody can read it or go on from it. Is it another archive, or was it restored from an older backup? Name the right archive, or restore what was written to it after that backup.`
      : "The head names a checkpoint that isn't there: nobody can read it or go on from it.";
  }

  *gaps(): Generator<Suspicion> {
    if (this.#evicted) return;
    const ends = this.#ends();
    const needed = this.#neededByHeads();
    for (const child of this.#seen.values()) {
      const { namespace, parentId, intact } = child;
      if (
        isReserved(namespace) ||
        !intact ||
        parentId === undefined ||
        this.#seen.has(keyOf(namespace, parentId))
      )
        continue;
      const at: Address = { threadId: this.#threadId, namespace, checkpointId: parentId };
      const common = { kind: "gap", part: "record", checkpoint: at } as const;
      const left = this.#strayAt(at);
      const head = needed.get(checkpointKey(at));
      if (head !== undefined) {
        yield this.#found({
          ...common,
          severity: "error",
          channel: head.channels[0],
          involved: [child, at],
          meaning: this.#whyUnread(head.checkpointId, head.channels),
        });
        continue;
      }
      if (left !== undefined) {
        yield this.#found({
          ...common,
          severity: left === "late" ? "warning" : "error",
          involved: [child, at],
          meaning: `A checkpoint in the middle of the thread is lost: its pending writes are there, and ${child.checkpointId} was made from it. Newer ones can be continued.`,
        });
        continue;
      }
      const end = ends.get(namespace)?.find(({ checkpointId }) => checkpointId < parentId);
      if (end === undefined || this.#mayFollowRemoval(child)) continue;
      yield this.#found({
        ...common,
        severity: "warning",
        involved: [child, at, end],
        meaning: `A checkpoint in the middle of the thread isn't there, though older ones are: it is lost, unless deleteForRuns() removed it. Newer ones can be continued.`,
      });
    }
  }

  /** Missing checkpoints that heads rebuild their DeltaChannels from, by key: reads of these heads fail. */
  #neededByHeads(): ReadonlyMap<
    string,
    { readonly checkpointId: string; readonly channels: readonly string[] }
  > {
    const needed = new Map<string, { checkpointId: string; channels: string[] }>();
    const isDelta = new Set(this.#owners.flatMap(({ scan }) => [...scan.deltaChannels]));
    for (const [namespace, checkpointId] of this.#heads) {
      if (isReserved(namespace)) continue;
      const met = new Set<SeenCheckpoint>();
      let at = this.#seen.get(keyOf(namespace, checkpointId));
      let channels = at?.withoutValue.filter((channel) => isDelta.has(channel)) ?? [];
      while (at !== undefined && channels.length > 0 && !met.has(at)) {
        met.add(at);
        const open: ReadonlySet<string> = new Set(at.withoutValue);
        // One that isn't open has a value there, or wasn't written to before.
        channels = channels.filter((channel) => open.has(channel));
        if (at.parentId === undefined || channels.length === 0) break;
        const key = keyOf(namespace, at.parentId);
        at = this.#seen.get(key);
        if (at === undefined) needed.set(key, { checkpointId, channels });
      }
    }
    return needed;
  }

  #whyUnread(head: string, channels: readonly string[]): string {
    const names = channels.map((channel) => JSON.stringify(channel)).join(", ");
    const rebuilt = `the head ${head} rebuilds ${names} from it, so that nobody can read the head or go on from it`;
    return this.#owners.length === 1 && this.#heads.has(reservedNamespaces.archived)
      ? `This checkpoint isn't in tier ${this.#main.place.name}, and ${rebuilt}. A part of the thread was archived: name the archive, too.`
      : `This checkpoint is lost, and ${rebuilt}.`;
  }

  /**
   * Finds a thread that was begun anew over a lost head: a second beginning, after all that came of the first. Where two runs begin a thread
   * at once, their checkpoints come at the same time.
   */
  *beginnings(): Generator<Suspicion> {
    // An archive may have another life of the thread, with a beginning of its own. Beside an archived thread, `strangers` finds it.
    if (this.#heads.has(reservedNamespaces.archived) || !otherLives(this.#owners).next().done) return;
    const roots = [...this.#seen.values()]
      .filter(({ namespace, begins, lostTo }) => namespace === "" && begins && lostTo === undefined)
      .sort((a, b) => (a.checkpointId < b.checkpointId ? -1 : 1));
    for (const [n, root] of roots.entries()) {
      const next = roots[n + 1];
      if (next === undefined) return;
      const last = [...this.#seen.values()]
        .filter((each) => each.namespace === "" && this.#isFrom(each, root))
        .reduce(newer, root);
      if (last.checkpointId > next.checkpointId) continue;
      yield this.#found({
        kind: "wrong-head",
        severity: "warning",
        part: "thread",
        checkpoint: last,
        involved: [root, last, next],
        detail: `It begins with ${root.checkpointId} and with ${next.checkpointId}.`,
        meaning: `The thread was begun anew, though nobody deleted it: its head was lost then, or somebody promoted a beginning that had lost a race. What came before, up to ${last.checkpointId}, is still there, beside what came since. Pruning would remove it.`,
      });
    }
  }

  /** Finds batches of pending writes that a checkpoint was made from, but that its parent lacks. */
  *lostWrites(): Generator<Suspicion> {
    for (const child of this.#seen.values()) {
      const { namespace, parentId, consumed, withoutValue, checkpointId } = child;
      const key = keyOf(namespace, parentId ?? "");
      const parent = parentId === undefined ? undefined : this.#seen.get(key);
      if (parent?.batches === undefined || isReserved(namespace)) continue;
      const strays = this.#owners.flatMap(({ scan }) => scan.strays.get(key)?.batches ?? []);
      const missing = missingBatches([...parent.batches, ...strays], consumed);
      if (missing.length === 0) continue;
      const rebuilt = withoutValue.length > 0;
      yield this.#found({
        kind: "gap",
        severity: rebuilt ? "error" : "warning",
        part: "writes",
        checkpoint: parent,
        detail: `Missing: batch ${missing.join(", ")}.`,
        involved: [parent, child],
        meaning: rebuilt
          ? `Pending writes that ${checkpointId} was made from are lost: DeltaChannels that are rebuilt from them can't be read.`
          : `Pending writes that ${checkpointId} was made from are lost, or the process died while it stored them. Its state has them; what single tasks of the step wrote can't be shown.`,
      });
    }
  }

  /** Whether a checkpoint may have been stored after the owner's last removal. If that is unknown, as for one in another tier, it may. */
  #mayFollowRemoval(checkpoint: SeenCheckpoint): boolean {
    if (this.#owners.every(({ inspection }) => (inspection?.removedAt ?? 0) === 0)) return false;
    const { thereAt } = this.#main.scan.seen.get(checkpointKey(checkpoint)) ?? {};
    return thereAt === undefined || thereAt > (this.#main.inspection?.removedAt ?? 0);
  }

  /** Merges the marks of a checkpoint from two tiers: both have some if it was archived and the thread went on since. */
  #withMarks(key: string, checkpoint: SeenCheckpoint): SeenCheckpoint {
    const before = this.#seen.get(key);
    if (before === undefined) return checkpoint;
    const batches = checkpoint.batches && before.batches && [...checkpoint.batches, ...before.batches];
    return { ...checkpoint, made: [...checkpoint.made, ...before.made], batches };
  }

  /** The newest checkpoint of the main line that was made from this one since it was last wound back. */
  #newestChild(checkpoint: SeenCheckpoint): SeenCheckpoint | undefined {
    const made = new Set(checkpoint.made);
    return (this.#children.get(checkpointKey(checkpoint)) ?? [])
      .filter((child) => child.lostTo === undefined && !made.has(child.checkpointId))
      .reduce<SeenCheckpoint | undefined>(newer, undefined);
  }

  /** The end of the line that leads on from a checkpoint. */
  #tip(from: SeenCheckpoint): SeenCheckpoint {
    const met = new Set<string>();
    let tip = from;
    for (let next: SeenCheckpoint | undefined = from; next !== undefined && !met.has(next.checkpointId);) {
      tip = next;
      met.add(next.checkpointId);
      next = this.#newestChild(next);
    }
    return tip;
  }

  /** The newest checkpoint of the main line of a namespace. */
  #newest(namespace: string): SeenCheckpoint | undefined {
    return [...this.#seen.values()]
      .filter((each) => each.namespace === namespace && each.lostTo === undefined)
      .reduce<SeenCheckpoint | undefined>(newer, undefined);
  }

  #behind(head: SeenCheckpoint, tip: SeenCheckpoint, next: SeenCheckpoint): Suspicion {
    return this.#found({
      kind: "wrong-head",
      severity: "warning",
      part: "head",
      checkpoint: head,
      target: tip.checkpointId,
      involved: [head, next, tip],
      meaning: `The head isn't the newest checkpoint of the main line: ${tip.checkpointId} is, and a run that continues now repeats or drops the steps in between.`,
    });
  }

  #onSideBranch(head: SeenCheckpoint): Suspicion {
    const newest = this.#newest(head.namespace);
    // A branch that competes with nothing on the main line lost no race. Moving the head back to its beginning would only lose it.
    const target = newest === undefined || this.#isFrom(head, newest) ? undefined : newest.checkpointId;
    return this.#found({
      kind: "wrong-head",
      severity: "warning",
      part: "head",
      checkpoint: head,
      target,
      involved: [head],
      meaning: target === undefined ? wronglyMarked : onSideBranch,
    });
  }

  /** Whether a checkpoint is `ancestor`, or descends from it. */
  #isFrom(checkpoint: SeenCheckpoint, ancestor: SeenCheckpoint): boolean {
    const met = new Set<SeenCheckpoint>();
    for (let at: SeenCheckpoint | undefined = checkpoint; at !== undefined && !met.has(at);) {
      if (at === ancestor) return true;
      met.add(at);
      at = this.#seen.get(keyOf(at.namespace, at.parentId ?? ""));
    }
    return false;
  }

  /** Finds namespaces that have checkpoints of a main line, perhaps in an archive, but no head. */
  *#headless(): Generator<Suspicion> {
    const isRooted = isRootedMark(this.#heads.get(reservedNamespaces.archived));
    const namespaces = new Set([...this.#main.scan.seen.values()].map(({ namespace }) => namespace));
    if (isRooted) namespaces.add("");
    for (const namespace of namespaces) {
      if (isReserved(namespace) || this.#heads.has(namespace)) continue;
      const newest = this.#newest(namespace);
      const isElsewhere = newest === undefined && isRooted && namespace === "";
      if (newest === undefined && !isElsewhere) continue;
      const isUnfinished = this.#main.unfinished;
      if (isUnfinished && namespace !== "") continue;
      yield this.#found({
        kind: "wrong-head",
        severity: isUnfinished ? "warning" : "error",
        part: "head",
        checkpoint: { namespace, checkpointId: undefined },
        target: newest?.checkpointId,
        involved: newest === undefined ? [] : [newest],
        meaning: isUnfinished
          ? "A copy of this thread is being made here, or was interrupted: an import or a move gives a thread its heads last. Until then nobody sees it. A thread that lost its only head looks like this, too."
          : isElsewhere
            ? "The thread was archived, and its head is lost: nobody can go on from it. Open it together with its archive, and verify it again."
            : "There are checkpoints and no head, which is lost: nobody can go on from them.",
      });
    }
  }

  /** The ends of lines that pruning would remove first: ends that aren't heads or side branches, and have no waiting interrupt. */
  #ends(): ReadonlyMap<string, readonly SeenCheckpoint[]> {
    const ends = new Map<string, SeenCheckpoint[]>();
    for (const [key, checkpoint] of this.#seen) {
      const { namespace, checkpointId, lostTo, interrupted } = checkpoint;
      if (this.#children.has(key) || lostTo !== undefined || interrupted) continue;
      if (this.#heads.get(namespace) === checkpointId) continue;
      const found = ends.get(namespace);
      if (found === undefined) ends.set(namespace, [checkpoint]);
      else found.push(checkpoint);
    }
    return ends;
  }

  /** Whether a missing checkpoint has pending writes: "late" if they may all have come after the last removal, otherwise "there". */
  #strayAt({ namespace, checkpointId }: Address): "there" | "late" | undefined {
    for (const { scan, inspection } of this.#owners) {
      const stray = scan.strays.get(keyOf(namespace, checkpointId));
      if (stray === undefined) continue;
      const removedAt = inspection?.removedAt ?? 0;
      return removedAt === 0 || stray.oldest <= removedAt ? "there" : "late";
    }
    return undefined;
  }

  #found({
    checkpoint: { namespace, checkpointId },
    ...found
  }: Omit<Suspicion, "place" | "namespace" | "checkpointId" | "concerns"> & {
    readonly checkpoint: { readonly namespace: string; readonly checkpointId: string | undefined };
  }): Suspicion {
    const involved = found.involved.map(({ namespace: ns, checkpointId: id }) => ({
      threadId: this.#threadId,
      namespace: ns,
      checkpointId: id,
    }));
    return { ...found, involved, namespace, checkpointId, place: this.#main.place, concerns: 1 };
  }
}

const onSideBranch = "The head is on a side branch, which lost a race and was never made the main line.";
const wronglyMarked =
  "The head is marked as a side branch, which lost a race, but nothing on the main line is newer: the mark is damaged, or the checkpoint that won is lost.";

function newer(a: SeenCheckpoint | undefined, b: SeenCheckpoint): SeenCheckpoint {
  return a === undefined || b.checkpointId > a.checkpointId ? b : a;
}

function keyOf(namespace: string, checkpointId: string): string {
  return checkpointKey({ namespace, checkpointId });
}
