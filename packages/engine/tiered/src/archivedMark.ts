import type { Tier } from "@stratigraph/core";
import { isRootedMark, markedCopy, markOf } from "@stratigraph/core/internal";
import { reservedNamespaces, type RemoveRequest } from "@stratigraph/core/tier";

/**
 * The namespace whose head marks a thread as archived. The mark is a head because heads are kept when a thread is evicted and go when
 * it is deleted. The namespace has no checkpoints, so no listing shows it.
 */
export const archivedMark = reservedNamespaces.archived;

/**
 * Marks a thread as archived, right before the warm tier drops checkpoints of it.
 * @param copy the revision of the copy in the archive
 * @returns the thread's revision afterwards; undefined if it was written to after `revision`
 */
export async function markArchived(
  warm: Tier,
  threadId: string,
  revision: number,
  copy: number,
): Promise<number | undefined> {
  const { head, revision: now } = await warm.peek({ threadId, namespace: archivedMark });
  const root = await warm.peek({ threadId, namespace: "" });
  if (now !== revision || root.revision !== revision) return undefined;
  const isRooted = root.head !== undefined;
  const isKnown = isRootedMark(head) || !isRooted;
  if (head !== undefined && markedCopy(head) === copy && isKnown) return revision;
  const appended = await warm.append({
    threadId,
    records: [],
    blobs: [],
    heads: [{ namespace: archivedMark, to: markOf("archived", copy, isRooted), expected: "any" }],
    onConflict: "refuse",
    seen: revision,
  });
  return appended.revision === revision + 1 ? appended.revision : undefined;
}

/** Removes the mark of a thread of which nothing is archived any more, unless the thread was changed after `revision`. */
export async function unmark(warm: Tier, threadId: string, revision: number): Promise<void> {
  const nothing = { checkpoints: [], dropBlobs: [], replaceBlobs: [] };
  await warm.remove({ threadId, revision, ...nothing, heads: [{ namespace: archivedMark }] });
}

/** The same request; if it removes the thread's last root checkpoint, it also removes the mark. */
export function withoutMark(request: RemoveRequest): RemoveRequest {
  const ends = request.heads.some(({ namespace, to }) => namespace === "" && to === undefined);
  return ends ? { ...request, heads: [...request.heads, { namespace: archivedMark }] } : request;
}
