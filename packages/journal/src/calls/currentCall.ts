import { AsyncLocalStorage } from "node:async_hooks";

/** The call that the code around it is run by. */
export interface CurrentCall {
  readonly fingerprint: string;
  /** What a service that takes idempotency keys is given: the same in all attempts of the call. */
  readonly idempotencyKey: string;
  /** 1 for the first one. */
  readonly attempt: number;
}

const storage = new AsyncLocalStorage<CurrentCall>();

/** The call whose tool or function is running; undefined outside. For tools that pass an idempotency key on. */
export function currentCall(): CurrentCall | undefined {
  return storage.getStore();
}

export function runAs<T>(call: CurrentCall, work: () => T): T {
  return storage.run(call, work);
}
