import { AsyncLocalStorage } from "node:async_hooks";

/** The call that the code around it is run by. */
export interface CurrentCall {
  readonly fingerprint: string;
  /** What a service that takes idempotency keys is given: the same in all attempts of the call. */
  readonly idempotencyKey: string;
  /** 1 for the first one. */
  readonly attempt: number;
}

interface Running {
  readonly call: CurrentCall;
  /** The task that makes it; undefined outside graphs. */
  readonly task: string | undefined;
}

const storage = new AsyncLocalStorage<Running>();

/** The call whose tool or function is running; undefined outside. For tools that pass an idempotency key on. */
export function currentCall(): CurrentCall | undefined {
  return storage.getStore()?.call;
}

/** Whether a task makes the call that the code around it is run by, and not one of a graph that the call's tool runs. */
export function isTaskOfCall(task: string | undefined): boolean {
  return storage.getStore()?.task === task;
}

export function runAs<T>(call: CurrentCall, task: string | undefined, work: () => T): T {
  return storage.run({ call, task }, work);
}
