/** The place of a call, as its journal has it. */
export interface Where {
  readonly thread?: string;
  readonly checkpoint?: string;
  readonly namespace?: string;
  readonly issuer?: string;
  readonly task?: string;
  /** The id of the run. */
  readonly run?: string;
}

/** What is known of a call. */
export interface KnownCall {
  readonly call: string;
  readonly tool?: string | undefined;
  readonly effects?: string | undefined;
  readonly where?: Where | undefined;
  readonly status: string;
  /** The id of its run, if the call was forgotten because the run was deleted. */
  readonly deletedRun?: string | undefined;
  /** The id of the record that says so; absent once its entries were cut off. */
  readonly record?: string | undefined;
  /** The thread whose journal has it, if that isn't the thread whose run made it. */
  readonly journal?: string | undefined;
}

/** The calls that are in journals of other threads, by the thread whose run made them. */
export type CallsElsewhere = ReadonlyMap<string, CallsOfThread>;

/** The calls of one thread that are in journals of others. */
export type CallsOfThread = readonly KnownCall[];
