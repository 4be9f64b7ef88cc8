import { z } from "zod";

/** What a graph can't load, and where. */
export const graphFinding = z.object({
  thread: z.string().describe("The id of the thread."),
  namespace: z.string().optional().describe("The subgraph that it is in; absent at the root."),
  checkpoint: z.string().optional().describe("The head of the namespace."),
  kind: z
    .enum(["channel", "value", "node", "undecodable", "version"])
    .describe(
      "channel: the graph has no such channel. value: the channel's schema refuses it. node: a node is due that the graph hasn't. " +
        "undecodable: it can't be read. version: its state version can't be brought to the application's.",
    ),
  channel: z.string().optional(),
  path: z.string().optional().describe("Where in the channel's value."),
  node: z.string().optional(),
});

/** Without the place. `found` says it in a sentence. */
export type GraphFinding = Omit<z.infer<typeof graphFinding>, "thread" | "namespace" | "checkpoint"> & {
  readonly found: string;
};
export type FindingKind = GraphFinding["kind"];
