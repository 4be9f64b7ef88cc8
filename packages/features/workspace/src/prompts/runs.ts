import { TASKS } from "@langchain/langgraph-checkpoint";
import type { TierSaver } from "@stratigraph/core";
import { readReflog, taskStates } from "@stratigraph/branch/internal";
import { metadataTerms, type DecodedBody } from "@stratigraph/core/internal";
import type { ListedCheckpoint } from "@stratigraph/core/tier";
import { metadataOf, versionsIn } from "./promptVersion.ts";

/** A checkpoint of a run. */
export interface RunCheckpoint {
  readonly id: string;
  readonly listed: ListedCheckpoint;
  readonly body: DecodedBody;
  readonly metadata: object;
  readonly parent: RunCheckpoint | undefined;
  readonly run: Run;
  /** The versions of prompts that were used, by the prompts' names: those that it names, or else its parent's. */
  readonly versions: ReadonlyMap<string, string>;
  /** Whether it is on the line that leads to the head. */
  isMain: boolean;
}

/**
 * What a thread did from one input to the next: begun once, perhaps resumed several times. Of a fork, only its own part. It is a tree if
 * somebody went back in it.
 */
export interface Run {
  /** Oldest first. Those that the thread inherited, as a fork, aren't among them. */
  readonly own: RunCheckpoint[];
  /** Oldest first, inherited ones too. */
  readonly all: RunCheckpoint[];
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

/** The checkpoints of a thread without their values, oldest first, each with its run. Empty if the thread was deleted. */
export async function runsOf(saver: TierSaver, threadId: string): Promise<RunCheckpoint[]> {
  const listed: ListedCheckpoint[] = [];
  for await (const one of saver.tier.list({ threadId, namespace: "", recordsOnly: true })) listed.push(one);
  const [origin] = (await readReflog(saver, threadId)).lineage;
  const known = new Map<string, RunCheckpoint>();
  for (const one of listed.reverse()) {
    const { record } = one;
    const body = await saver.coder.decodeBody(record);
    const metadata = await saver.coder.metadata(record, body);
    const parent = record.parentId === undefined ? undefined : known.get(record.parentId);
    const continues =
      parent !== undefined && metadata.source !== "input" && !isNewInput(parent, body, metadata);
    const run: Run = continues ? parent.run : { own: [], all: [] };
    const named = versionsIn(metadata);
    const versions = named.size === 0 && continues ? parent.versions : named;
    const id = record.checkpointId;
    const checkpoint = { id, listed: one, body, metadata, parent, run, versions, isMain: false };
    run.all.push(checkpoint);
    // A fork begins with copies of its source's checkpoints, by the same ids. They count where they come from.
    if (origin === undefined || id > origin.checkpointId) run.own.push(checkpoint);
    known.set(id, checkpoint);
  }
  const head = listed.at(-1)?.head;
  for (let at = head === undefined ? undefined : known.get(head); at !== undefined; at = at.parent)
    at.isMain = true;
  return [...known.values()];
}

/** Under durability "exit" the checkpoint of an input isn't stored. But the channel of inputs has another version after it. */
function isNewInput(
  parent: RunCheckpoint,
  body: DecodedBody,
  metadata: { readonly source?: string },
): boolean {
  if (metadata.source !== "loop" || (parent.metadata as { source?: string }).source === "input") return false;
  return body.manifest.get("__start__")?.version !== parent.body.manifest.get("__start__")?.version;
}

/** Whether a run made a checkpoint, and not an edit by hand, a merge or a copy. */
export function isStep({ metadata }: RunCheckpoint): boolean {
  const { source } = metadata as { readonly source?: string };
  return source === "input" || source === "loop";
}

/** Where a run came to with a version: of several ends, the one on the thread's main line, or else the newest. */
export function endOf(run: Run, name: string, version: string): RunCheckpoint {
  const parents = new Set(run.own.map(({ parent }) => parent));
  const ends = run.own.filter((checkpoint) => !parents.has(checkpoint)).reverse();
  const uses = (checkpoint: RunCheckpoint): boolean => checkpoint.versions.get(name) === version;
  // If the run was resumed with another version, its end is what came of that.
  const last = run.own.findLast(uses);
  let of = ends.filter(uses);
  if (of.length === 0) of = ends.filter((end) => isBelow(end, last));
  return of.find(({ isMain }) => isMain) ?? of[0]!;
}

function isBelow(checkpoint: RunCheckpoint, above: RunCheckpoint | undefined): boolean {
  for (let at: RunCheckpoint | undefined = checkpoint; at !== undefined; at = at.parent)
    if (at === above) return true;
  return false;
}

/** What became of a run that ended at a checkpoint. @param stored with blobs */
export async function outcomeOf(
  saver: TierSaver,
  { body }: RunCheckpoint,
  stored: ListedCheckpoint,
): Promise<Outcome> {
  const { interrupted, failed } = await taskStates(saver, stored);
  if (interrupted) return "waiting";
  if (failed !== undefined) return "failed";
  for (const { channel, value } of body.manifest.values()) {
    if (value === undefined) continue;
    if (channel === "__start__" || channel.startsWith("branch:to:")) return "unfinished";
    if (channel !== TASKS) continue;
    const sent = await saver.coder.value(stored.record, channel, value, stored.blobs);
    if (Array.isArray(sent) && sent.flat().length > 0) return "unfinished";
  }
  return "succeeded";
}
