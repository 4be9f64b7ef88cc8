/** The head of `reservedNamespaces.copy` once the last part has come. */
export const wholeCopy = "whole";
/** The head of `reservedNamespaces.copy` while an import or a move is under way, or was broken off: repeated, it brings the rest. */
export const importUnderWay = "import";

/** Whether a copy in parts is under way, or was broken off: whatever it has brought, the thread isn't there yet. */
export function isUnderWay(mark: string | undefined): boolean {
  return mark !== undefined && mark !== wholeCopy;
}

/** How the mark of an archived thread begins if the thread's root had a head: a thread may have calls or events alone. */
const ofRoot = "root: ";
/** Stands between what the mark says, and the revision of the copy in the archive. */
const ofCopy = ", copy ";

/**
 * The mark of an archived thread. Whoever finds no head of the root later learns from it whether there was one.
 * @param copy the revision of the copy in the archive; 0 if it isn't known
 */
export function markOf(says: string, copy: number, isRooted: boolean): string {
  return `${isRooted ? ofRoot : ""}${says}${copy === 0 ? "" : `${ofCopy}${copy}`}`;
}

/** Whether the mark of an archived thread says that the thread's root had a head. */
export function isRootedMark(mark: string | undefined): boolean {
  return mark?.startsWith(ofRoot) === true;
}

/** The revision of the copy that was marked. An archive that has an earlier one was set back. 0 if an older version marked it. */
export function markedCopy(mark: string | undefined): number {
  return Number(mark?.split(ofCopy)[1] ?? 0);
}
