/** Whether a namespace is one that the packages built on core keep records of their own in: no subgraph's. */
export function isReserved(namespace: string): boolean {
  return namespace.startsWith("__stratigraph_") || namespace.startsWith("\u0001stratigraph");
}
