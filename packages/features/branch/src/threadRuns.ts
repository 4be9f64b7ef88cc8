import type { TierSaver } from "@stratigraph/core";
import type { DecodedBody } from "@stratigraph/core/internal";
import type { ListedCheckpoint } from "@stratigraph/core/tier";
import { readReflog } from "./reflog.ts";

/** A checkpoint of a run, without its values. */
export interface RunCheckpoint {
  readonly id: string;
  readonly listed: ListedCheckpoint;
  readonly body: DecodedBody;
  readonly metadata: { readonly source?: string; readonly step?: number };
  readonly parent: RunCheckpoint | undefined;
  readonly run: Run;
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

/** The checkpoints of a thread's root without their values, oldest first, each with its run. Empty if the thread was deleted. */
export async function threadRuns(
  saver: TierSaver,
  threadId: string,
  signal?: AbortSignal,
): Promise<RunCheckpoint[]> {
  const listed: ListedCheckpoint[] = [];
  for await (const one of saver.tier.list({ threadId, namespace: "", recordsOnly: true })) {
    signal?.throwIfAborted();
    listed.push(one);
  }
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
    const id = record.checkpointId;
    const checkpoint = { id, listed: one, body, metadata, parent, run, isMain: false };
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
function isNewInput(parent: RunCheckpoint, body: DecodedBody, metadata: RunCheckpoint["metadata"]): boolean {
  if (metadata.source !== "loop" || parent.metadata.source === "input") return false;
  return body.manifest.get("__start__")?.version !== parent.body.manifest.get("__start__")?.version;
}
