import { AsyncLocalStorage } from "node:async_hooks";
import { shared } from "../shared.ts";

/** The call that runs the current code. */
export interface CurrentCall {
  readonly fingerprint: string;
  /** The key for a service that takes idempotency keys: the same in all attempts of the call. */
  readonly idempotencyKey: string;
  /** 1 for the first one. */
  readonly attempt: number;
}

interface Running {
  readonly call: CurrentCall;
  /** The task that makes it; undefined outside graphs. */
  readonly task: string | undefined;
}

const storage = shared("current-call", () => new AsyncLocalStorage<Running>());

/** The call whose tool or function is running; undefined outside. For tools that pass an idempotency key on. */
export function currentCall(): CurrentCall | undefined {
  return storage.getStore()?.call;
}

/** The task that makes the call that runs the current code; undefined outside graphs. */
export function taskOfCall(): string | undefined {
  return storage.getStore()?.task;
}

/** Whether a task makes the call that runs the current code. False for a task of a graph that the call's tool runs. */
export function isTaskOfCall(task: string | undefined): boolean {
  const running = storage.getStore();
  return running !== undefined && running.task === task;
}

export function runAs<T>(call: CurrentCall, task: string | undefined, work: () => T): T {
  return storage.run({ call, task }, work);
}

/** Runs code as that of nobody's call, whoever started it: the answer to a request isn't part of the call that sent the request. */
export function outsideCalls<T>(work: () => T): T {
  return storage.exit(work);
}
