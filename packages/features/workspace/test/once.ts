/** What a process is told by its argument. */
export interface OnceOrders {
  readonly url: string;
  /** Where it notes each payment. */
  readonly file: string;
  /** Where, and at which message, it stops and waits to be killed. */
  readonly stopsIn?: "effect" | "ack" | undefined;
  readonly at?: number | undefined;
}

export type OnceSaid =
  | { readonly did: "ack" | "stop"; readonly n: number }
  | { readonly did: "fail"; readonly n: number; readonly code: string };
