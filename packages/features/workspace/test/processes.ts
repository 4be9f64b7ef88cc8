/** What createCheckpointer opens. */
export type Storage =
  | { readonly postgres: string }
  | { readonly redis: string }
  | { readonly hot: string; readonly warm: string };

/** What a process is told by its argument. */
export interface Orders {
  readonly storage: Storage;
  readonly workspace: string;
  /** By how much its clock is wrong, in milliseconds. */
  readonly clockMs?: number;
  readonly work:
    | { readonly do: "count"; /** Names its items. */ readonly as: string; readonly times: number }
    | { readonly do: "update"; readonly times: number }
    /** Handles messages and acknowledges them, except one. */
    | { readonly do: "subscribe"; readonly diesAt?: number }
    | { readonly do: "watch" }
    /** Holds a lock, and writes under it when it is told to. */
    | { readonly do: "lock" };
}

export type Said =
  | { readonly did: "count" | "handle" | "ack" | "see" | "lock"; readonly n: number }
  | { readonly did: "write"; readonly code: string }
  | { readonly did: "end" };
