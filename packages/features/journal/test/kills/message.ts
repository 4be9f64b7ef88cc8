/** The places where a process is killed: `before` and `after` what the name says. */
export const points = [
  "before the claim",
  "after the claim",
  "before the effect",
  "after the effect",
  "before the record",
  "after the record",
  "before putWrites",
  "after putWrites",
  "before put",
  "after put",
] as const;

export type Point = (typeof points)[number];

/** What a child is told by its argument. */
export interface Orders {
  /** Of the storage, or of the warm tier; a folder is an embedded database. */
  readonly url: string;
  readonly hot?: string | undefined;
  readonly threads: readonly string[];
  readonly durability: "sync" | "async";
  /** Where the tools write what they do. */
  readonly effects: string;
  /** Where it kills itself, and at which time that it gets there. Absent: nowhere. */
  readonly die?: { readonly at: Point; readonly time: number } | undefined;
}

/** One line of the file of effects. */
export interface Effect {
  readonly tool: "pay" | "charge";
  readonly thread: string;
  readonly turn: number;
  /** New each time that the model is asked. */
  readonly nonce: string;
  readonly fingerprint: string;
  readonly key: string;
}

/** What a child says before it ends well. */
export interface Done {
  readonly answered: number;
  readonly finished: readonly { readonly thread: string; readonly messages: readonly string[] }[];
}
