/**
 * Namespaces in which the packages built on core keep records of their own. LangGraph never asks for them, and users see them
 * in no list.
 */
export const reservedNamespaces = {
  /** A fork's origin and the recorded moves of a thread's head. */
  reflog: "__stratigraph_reflog__",
  /** Has a head, and no checkpoint, where a part of the thread is in the archive. */
  archived: "\u0001stratigraph.archived",
} as const;

/** Whether a namespace is one of {@link reservedNamespaces}, or begins as they do: later versions may reserve more. */
export function isReserved(namespace: string): boolean {
  return namespace.startsWith("__stratigraph_") || namespace.startsWith("\u0001stratigraph");
}
