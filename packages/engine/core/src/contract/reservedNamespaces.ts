/**
 * Namespaces in which the packages built on core keep records of their own. LangGraph never asks for them, and users see them
 * in no list.
 */
export const reservedNamespaces = {
  /** A fork's origin and the recorded moves of a thread's head. */
  reflog: "__stratigraph_reflog__",
  /**
   * The tool calls of a thread, as a chain: each event is a record whose parent is the event before, and the head is the last one.
   * Ids are `<sequence number as 12 hex digits>-<16 random hex digits>`, so they sort by number. See {@link isKeptWhole}.
   */
  calls: "__stratigraph_calls__",
  /** Events of a thread, as a chain whose records are named as those of {@link reservedNamespaces.calls}. */
  events: "__stratigraph_events__",
  /** What LangGraph's API knows of a thread besides its checkpoints: its metadata, as the one checkpoint that is the head. */
  thread: "__stratigraph_thread__",
  /**
   * The last value of each best-effort channel, one record each, without a head. Whatever removes such a record, or copies a thread without
   * it, loses a value that may be lost.
   */
  loose: "__stratigraph_loose__",
  /** Has a head, but no checkpoint, if a part of the thread is in the archive: see `markOf`. */
  archived: "\u0001stratigraph.archived",
  /**
   * Has a head, but no checkpoint, in the owner and in the archive, once somebody began to archive the thread. The head is an id of the
   * thread's life: the id of the owner, a slash, and what was made at random. What the archive has under another id was deleted.
   */
  life: "\u0001stratigraph.life",
  /**
   * Has a head, but no checkpoint, if the thread was copied in several parts: it names who copies it until the thread's other heads come,
   * and "whole" from then on. See `isUnderWay`.
   */
  copy: "\u0001stratigraph.copy",
} as const;

/** Whether a namespace is one of {@link reservedNamespaces}, or begins like one: later versions may reserve more. */
export function isReserved(namespace: string): boolean {
  return namespace.startsWith("__stratigraph_") || namespace.startsWith("\u0001stratigraph");
}

/**
 * Whether all records of a namespace stay as long as their thread, because each proves those before it, or says what happened. Pruning,
 * retention and the deletion of runs skip them (a journal erases what calls of these runs said); forks inherit calls, but no events. `Tier.deleteThread` removes them, and so does
 * `Tier.remove`, if a caller names them.
 */
export function isKeptWhole(namespace: string): boolean {
  return namespace === reservedNamespaces.calls || namespace === reservedNamespaces.events;
}
