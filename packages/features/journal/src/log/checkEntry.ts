import { journalBroken } from "../errors.ts";
import type { Entry } from "./entry.ts";
import type { Sealing } from "./sealing.ts";

/** @throws StratigraphError "JOURNAL_BROKEN" */
export function checkEntry(threadId: string, sealing: Sealing, entry: Entry, isSigned: boolean): void {
  if (!sealing.isIntact(entry))
    throw journalBroken(threadId, entry.seq, "its hash isn't that of its content");
  if (entry.keyId === undefined && sealing.activeKey !== undefined && (isSigned || !sealing.takesUnsigned))
    throw journalBroken(threadId, entry.seq, unsigned(isSigned));
}

function unsigned(isSigned: boolean): string {
  return isSigned ? "it isn't signed, and entries before it are" : `it isn't signed. ${beforeKeys}`;
}

/** What to do about a journal that was begun before there were keys. */
export const beforeKeys =
  'A journal that was begun before there were keys is accepted with sign: { …, unsigned: "accept" }';
