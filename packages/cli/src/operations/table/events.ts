/** What happens while an operation runs a graph: JSON, and of bounded size. */
export type RunEvent =
  | {
      readonly type: "node";
      readonly node: string;
      /** The task's id: a node may run several times at once. */
      readonly task: string;
      /** The subgraphs it is in, joined with "|"; "" at the root. */
      readonly namespace: string;
      readonly state: "started" | "ended" | "failed" | "interrupted";
      /** How long it took; not when it started. */
      readonly ms?: number;
    }
  | {
      readonly type: "message";
      readonly node: string;
      readonly namespace: string;
      /** Of the message: its parts have the same one. */
      readonly id?: string;
      /** "human", "ai", "tool", … */
      readonly role: string;
      /** The text that is new; cut where it is long, and absent if values are redacted. */
      readonly text?: string;
      /** Names of the tools that it calls. */
      readonly calls?: readonly string[];
    }
  /** What a node told of itself, as the serde's JSON. */
  | { readonly type: "custom"; readonly namespace: string; readonly value?: unknown }
  /** A checkpoint of the root namespace was written. */
  | {
      readonly type: "checkpoint";
      readonly checkpoint: string;
      readonly step?: number;
      readonly next: readonly string[];
    }
  /** Told once: texts and values are left out from now on, because there were so many. */
  | { readonly type: "omitted" };
