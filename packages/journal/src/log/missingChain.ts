import type { JournalLog } from "./journalLog.ts";

const told = new WeakSet<JournalLog>();

/** Says once that nothing in the graph's state tells an equal call of a later turn apart, once its messages are trimmed. */
export function noteMissingChain(log: JournalLog, author: string | undefined): void {
  if (told.has(log)) return;
  told.add(log);
  const text =
    "The graph's state has no chain of calls, so the place of a call is derived from the messages that are left in it: once they are " +
    "trimmed, a call may count as an earlier one. Add journal.channel and journal.next(), or journalMiddleware.";
  log.note({ event: { type: "note", about: "chain", text }, author });
}
