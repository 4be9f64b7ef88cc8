import { StratigraphError, type ErrorCode, type Tier } from "@stratigraph/core";
import { expect, type TestContext } from "vitest";
import type { OpenedTier, TierPart, TierSuiteOptions } from "./setup.ts";

/** What the groups of the suite share. The tier is only open while tests run. */
export interface TierContext {
  readonly options: TierSuiteOptions;
  readonly tier: Tier;
  readonly opened: OpenedTier;
  /** A thread id that was never used, not even in earlier runs. */
  thread(): string;
  /** If the tier lacks an optional part, skips the test, or fails it if the options require the part. */
  need(test: TestContext, has: boolean, part: TierPart): void;
  /** Ids that break quoting, patterns, key building and the like: as many of them as the options say. */
  readonly hostileIds: readonly string[];
}

/** The StratigraphError with this code that a call throws. If the call does anything else, the test fails. */
export async function thrown(call: Promise<unknown>, code: ErrorCode): Promise<StratigraphError> {
  const error: unknown = await call.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  if (!StratigraphError.is(error, code)) {
    const found = error === undefined ? "it succeeded" : `it threw ${String(error)}`;
    expect.fail(`expected an error with code ${code}, but ${found}`);
  }
  return error;
}

/** The answers and the errors of calls that were made at the same time. */
export async function race<T>(
  calls: readonly Promise<T>[],
): Promise<{ answers: readonly T[]; errors: readonly unknown[] }> {
  const settled = await Promise.allSettled(calls);
  return {
    answers: settled.flatMap((one) => (one.status === "fulfilled" ? [one.value] : [])),
    errors: settled.flatMap((one) => (one.status === "rejected" ? [one.reason as unknown] : [])),
  };
}
