import { reservedNamespaces, type RemoveRequest, type Tier } from "@stratigraph/core";

/**
 * A namespace whose head marks a thread that has an archived part. The mark is a head because heads stay when a thread is evicted
 * and go when it is deleted. The namespace has no checkpoints, so no listing shows it.
 */
export const archivedMark = reservedNamespaces.archived;

/**
 * Marks a thread, right before it loses checkpoints to the archive.
 * @returns its revision then; undefined where it was written to after `revision`
 */
export async function markArchived(
  warm: Tier,
  threadId: string,
  revision: number,
): Promise<number | undefined> {
  const { head, revision: now } = await warm.peek({ threadId, namespace: archivedMark });
  if (now !== revision) return undefined;
  if (head !== undefined) return revision;
  const appended = await warm.append({
    threadId,
    records: [],
    blobs: [],
    heads: [{ namespace: archivedMark, to: "archived", expected: "any" }],
    onConflict: "refuse",
    seen: revision,
  });
  return appended.revision === revision + 1 ? appended.revision : undefined;
}

/** The request, which also removes the mark when it removes the thread's last root checkpoint. */
export function withoutMark(request: RemoveRequest): RemoveRequest {
  const ends = request.heads.some(({ namespace, to }) => namespace === "" && to === undefined);
  return ends ? { ...request, heads: [...request.heads, { namespace: archivedMark }] } : request;
}
