/** An event while an operation runs a graph. It is JSON of bounded size. */
export type RunEvent =
  | {
      readonly type: "node";
      readonly node: string;
      /** The task's id: a node may run several times at once. */
      readonly task: string;
      /** The subgraphs it is in, joined with "|"; "" at the root. */
      readonly namespace: string;
      readonly state: "started" | "ended" | "failed" | "interrupted";
      /** How long it took; absent when it starts. */
      readonly ms?: number;
    }
  | {
      readonly type: "message";
      readonly node: string;
      readonly namespace: string;
      /** The message's id: all its parts have the same one. */
      readonly id?: string;
      /** "human", "ai", "tool", … */
      readonly role: string;
      /** The new text; cut if it is long, and absent if values are redacted. */
      readonly text?: string;
      /** Names of the tools that it calls. */
      readonly calls?: readonly string[];
    }
  /** An event that a node itself emitted, as the serde's JSON. */
  | { readonly type: "custom"; readonly namespace: string; readonly value?: unknown }
  /** A checkpoint of the root namespace was written. */
  | {
      readonly type: "checkpoint";
      readonly checkpoint: string;
      readonly step?: number;
      readonly next: readonly string[];
    }
  /** Emitted once: texts and values are left out from now on, because there were too many. */
  | { readonly type: "omitted" };
