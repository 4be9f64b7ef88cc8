/** Stands between what the mark of an archived thread says, and the revision of the copy in the archive. */
const ofCopy = ", copy ";

/** The mark of an archived thread. @param copy the revision of the copy in the archive; 0 if it isn't known */
export function markOf(says: string, copy: number): string {
  return copy === 0 ? says : `${says}${ofCopy}${copy}`;
}

/** The revision of the copy that was marked. An archive that has an earlier one was set back. 0 if an older version marked it. */
export function markedCopy(mark: string | undefined): number {
  return Number(mark?.split(ofCopy)[1] ?? 0);
}
