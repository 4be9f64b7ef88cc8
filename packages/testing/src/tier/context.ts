import { StratigraphError, type ErrorCode, type Tier } from "@stratigraph/core";
import { expect, type TestContext } from "vitest";
import type { OpenedTier, TierPart, TierSuiteOptions } from "./setup.ts";

/** What the groups of the suite share. The tier is open only while tests run. */
export interface TierContext {
  readonly options: TierSuiteOptions;
  readonly tier: Tier;
  readonly opened: OpenedTier;
  /** A thread id that nothing was written under, also in earlier runs. */
  thread(): string;
  /** Skips a test where the tier lacks an optional part, or fails it where the options ask for the part. */
  need(test: TestContext, has: boolean, part: TierPart): void;
}

/** The error that a call throws: one of ours, with this code. Anything else fails the test. */
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

/** Results of racing calls: what came back, and what was thrown. */
export async function race<T>(
  calls: readonly Promise<T>[],
): Promise<{ answers: readonly T[]; errors: readonly unknown[] }> {
  const settled = await Promise.allSettled(calls);
  return {
    answers: settled.flatMap((one) => (one.status === "fulfilled" ? [one.value] : [])),
    errors: settled.flatMap((one) => (one.status === "rejected" ? [one.reason as unknown] : [])),
  };
}
