import type { TierSaver } from "@stratigraph/core";
import { branchesOf } from "./branches.ts";
import { checkThread } from "./checkPoint.ts";
import { checkSaver } from "./checkSaver.ts";
import { History } from "./history.ts";
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
 * @throws InvalidOptionError, InvalidAddressError, CorruptionError
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

/**
 * Draws the tree. Each column holds the id of the checkpoint that continues it; a checkpoint is drawn in the first column that
 * holds its id.
 */
function draw(entries: readonly LogEntry[]): string {
  const columns: (string | undefined)[] = [];
  const lines: string[] = [];
  // Parents that were pruned, or are in other threads, aren't drawn.
  const here = new Set(entries.map(({ checkpointId }) => checkpointId));
  for (const entry of entries) {
    let own = columns.indexOf(entry.checkpointId);
    if (own === -1) own = free(columns);
    const joined = columns.flatMap((id, index) =>
      id === entry.checkpointId && index !== own ? [index] : [],
    );
    if (joined.length > 0)
      lines.push(row(columns, (index) => (joined.includes(index) ? "╯" : undefined), own));
    for (const index of joined) columns[index] = undefined;
    columns[own] = entry.checkpointId;
    lines.push(`${row(columns, (index) => (index === own ? "●" : undefined))}  ${label(entry)}`);
    const [parent, ...merged] = entry.parents;
    columns[own] = parent !== undefined && here.has(parent) ? parent : undefined;
    for (const other of merged.filter((id) => here.has(id))) {
      const index = columns.indexOf(other) === -1 ? free(columns) : columns.indexOf(other);
      columns[index] = other;
    }
    while (columns.length > 0 && columns.at(-1) === undefined) columns.pop();
  }
  return lines.join("\n");
}

function free(columns: (string | undefined)[]): number {
  const gap = columns.indexOf(undefined);
  return gap === -1 ? columns.length : gap;
}

function row(
  columns: readonly (string | undefined)[],
  mark: (index: number) => string | undefined,
  joinsAt?: number,
): string {
  const cells = columns.map((id, index) => mark(index) ?? (id === undefined ? " " : "│"));
  if (joinsAt !== undefined) cells[joinsAt] = "├";
  return cells.join(" ");
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
