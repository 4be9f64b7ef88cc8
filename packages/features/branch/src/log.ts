import type { TierSaver } from "@stratigraph/core";
import { branchesOf } from "./branches.ts";
import { checkThread } from "./checkPoint.ts";
import { checkSaver } from "./checkSaver.ts";
import { History } from "./history.ts";
import { Lanes } from "./lanes.ts";
import type { ThreadRef } from "./readPoint.ts";

/** One checkpoint in a log. */
export interface LogEntry {
  readonly checkpointId: string;
  /** First the checkpoint it was made from, then those that were merged into it. */
  readonly parents: readonly string[];
  readonly step: number | undefined;
  readonly source: string | undefined;
  /** ISO 8601. */
  readonly ts: string;
  readonly head: boolean;
  /** If the checkpoint lost a race, the head that won it. */
  readonly lostTo?: string | undefined;
  /** The threads that were forked from this checkpoint. */
  readonly forks: readonly string[];
}

/** The checkpoints of a thread's root namespace, children before parents. */
export interface Log {
  readonly threadId: string;
  readonly entries: readonly LogEntry[];
  /** The tree as text, with one line for each checkpoint. */
  readonly text: string;
}

/**
 * A thread's history as a tree, with side branches, merges, and the checkpoints from which other threads were forked.
 * @throws EvictedError if a part of the thread is in an archive that isn't open; InvalidOptionError, InvalidAddressError, CorruptionError
 */
export async function log(saver: TierSaver, thread: ThreadRef): Promise<Log> {
  checkSaver("log", saver);
  const threadId = checkThread("thread", thread);
  const history = new History();
  await history.add(saver, threadId);
  const forks = new Map<string, string[]>();
  for (const { kind, threadId: fork, from } of await branchesOf(saver, threadId))
    if (kind === "fork" && from !== undefined) forks.set(from, [...(forks.get(from) ?? []), fork]);
  const head = history.heads.get(threadId);
  const entries: LogEntry[] = [];
  for (const checkpointId of childrenFirst(history)) {
    const { record, parents } = history.nodes.get(checkpointId)!;
    const body = await saver.coder.decodeBody(record);
    const { step, source } = await saver.coder.metadata(record, body);
    entries.push({
      checkpointId,
      parents,
      step,
      source,
      ts: body.header.ts,
      head: checkpointId === head,
      ...(record.lostTo === undefined ? {} : { lostTo: record.lostTo }),
      forks: forks.get(checkpointId) ?? [],
    });
  }
  return { threadId, entries, text: draw(entries) };
}

/** The ids of the checkpoints, newest first. A parent never comes before its child, even if a clock was set back. */
function childrenFirst({ nodes }: History): string[] {
  const waitsFor = new Map<string, number>();
  for (const { parents } of nodes.values())
    for (const parent of parents) waitsFor.set(parent, (waitsFor.get(parent) ?? 0) + 1);
  const ready = [...nodes.keys()].filter((id) => !waitsFor.has(id));
  const ordered: string[] = [];
  while (ready.length > 0) {
    ready.sort();
    const id = ready.pop()!;
    ordered.push(id);
    for (const parent of nodes.get(id)!.parents) {
      const left = waitsFor.get(parent)! - 1;
      waitsFor.set(parent, left);
      if (left === 0 && nodes.has(parent)) ready.push(parent);
    }
  }
  return ordered;
}

/** Draws the tree. Parents that were pruned, or are in other threads, aren't drawn. */
function draw(entries: readonly LogEntry[]): string {
  const lanes = new Lanes();
  const here = new Set(entries.map(({ checkpointId }) => checkpointId));
  return entries
    .flatMap((entry) => {
      const parents = entry.parents.filter((id) => here.has(id));
      const { join, row } = lanes.draw({ checkpointId: entry.checkpointId, parents });
      return [...(join === undefined ? [] : [join]), `${row}  ${label(entry)}`];
    })
    .join("\n");
}

function label({ checkpointId, step, source, head, lostTo, forks, parents }: LogEntry): string {
  const notes = [
    head ? "head" : undefined,
    lostTo === undefined ? undefined : "lost a race",
    parents.length > 1 ? `merges ${parents.slice(1).map(short).join(", ")}` : undefined,
    ...forks.map((thread) => `fork ${thread}`),
  ].filter((note) => note !== undefined);
  return `${short(checkpointId)}  step ${step ?? "?"} ${source ?? ""}${notes.length === 0 ? "" : `  (${notes.join("; ")})`}`;
}

function short(id: string): string {
  return id.length > 13 ? id.slice(0, 13) : id;
}
