import type { TierSaver } from "@stratigraph/core";
import { threadRuns, type Run, type RunCheckpoint } from "@stratigraph/branch/internal";
import { metadataTerms, taskStates } from "@stratigraph/core/internal";
import type { ListedCheckpoint } from "@stratigraph/core/tier";
import { metadataOf, versionsIn } from "./promptVersion.ts";

/** A checkpoint of a run, and what it used. */
export interface PromptCheckpoint extends RunCheckpoint {
  readonly parent: PromptCheckpoint | undefined;
  readonly run: PromptRun;
  /** The versions of prompts that were used, by the prompts' names: those that it names, or else its parent's. */
  versions: ReadonlyMap<string, string>;
}

/** A run of such checkpoints. */
export interface PromptRun extends Run {
  readonly own: PromptCheckpoint[];
  readonly all: PromptCheckpoint[];
}

export type Outcome = "succeeded" | "failed" | "waiting" | "unfinished";

/** The threads whose checkpoints name a version of a prompt, found by the index of metadata. An archive is listed as a whole. */
export async function* threadsUsing(saver: TierSaver, name: string, version: string): AsyncGenerator<string> {
  const terms = metadataTerms(metadataOf(name, version));
  let last: string | undefined;
  for await (const { record } of saver.tier.list({ namespace: "", terms, recordsOnly: true })) {
    if (record.threadId === last) continue;
    last = record.threadId;
    yield last;
  }
}

/** The checkpoints of a thread without their values, oldest first, each with its run and what it used. */
export async function runsOf(saver: TierSaver, threadId: string): Promise<PromptCheckpoint[]> {
  const found = (await threadRuns(saver, threadId)) as PromptCheckpoint[];
  for (const each of found) {
    const { parent, run, metadata } = each;
    const named = versionsIn(metadata);
    const continues = parent !== undefined && parent.run === run;
    each.versions = named.size === 0 && continues ? parent.versions : named;
  }
  return found;
}

/** Whether a run made a checkpoint, and not an edit by hand, a merge or a copy. */
export function isStep({ metadata }: PromptCheckpoint): boolean {
  const { source } = metadata;
  return source === "input" || source === "loop";
}

/** Where a run came to with a version: of several ends, the one on the thread's main line, or else the newest. */
export function endOf(run: PromptRun, name: string, version: string): PromptCheckpoint {
  const parents = new Set(run.own.map(({ parent }) => parent));
  const ends = run.own.filter((checkpoint) => !parents.has(checkpoint)).reverse();
  const uses = (checkpoint: PromptCheckpoint): boolean => checkpoint.versions.get(name) === version;
  // If the run was resumed with another version, its end is what came of that.
  const last = run.own.findLast(uses);
  let of = ends.filter(uses);
  if (of.length === 0) of = ends.filter((end) => isBelow(end, last));
  return of.find(({ isMain }) => isMain) ?? of[0]!;
}

function isBelow(checkpoint: PromptCheckpoint, above: PromptCheckpoint | undefined): boolean {
  for (let at: PromptCheckpoint | undefined = checkpoint; at !== undefined; at = at.parent)
    if (at === above) return true;
  return false;
}

/** What became of a run that ended at a checkpoint. */
export async function outcomeOf(saver: TierSaver, stored: ListedCheckpoint): Promise<Outcome> {
  return outcomes[await (await taskStates(saver, stored)).status()];
}

const outcomes = {
  waiting: "waiting",
  failed: "failed",
  interrupted: "unfinished",
  idle: "succeeded",
} as const;
