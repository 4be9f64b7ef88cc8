import { StratigraphError, type Tier } from "@stratigraph/core";
import { answerWithin, pingTier, trace } from "@stratigraph/core/internal";
import type { TierRole } from "@stratigraph/core/tier";
import { reasonOf } from "./outage.ts";

/** A tier that a stack can work without for a while. */
export interface OptionalTier {
  readonly role: Exclude<TierRole, "warm">;
  readonly tier: Tier;
}

/**
 * Sets up a tier that a stack can work without. If the tier can't be reached, that is traced, and later calls try it again. If it
 * can't work until somebody changes something, that is an error now, because later nobody would notice.
 *
 * @param timeoutMs after how many milliseconds the tier counts as unreachable
 * @throws StratigraphError that names the role
 */
export async function openOptional({ role, tier }: OptionalTier, timeoutMs: number): Promise<void> {
  try {
    await answerWithin(
      timeoutMs,
      async () => await ready(role, tier),
      () => new StratigraphError("UNAVAILABLE", `It wasn't ready within ${timeoutMs} ms.`, { timeoutMs }),
    );
  } catch (error) {
    if (!isAway(role, error)) throw unusable(role, tier, error);
    trace({ type: "unreachable", tier: tier.name, role, error });
  }
}

function isAway(role: TierRole, error: unknown): boolean {
  // A replica may lag behind a primary that was set up just now.
  return (
    StratigraphError.is(error) && (error.retryable || (role === "replica" && error.code === "NOT_SET_UP"))
  );
}

async function ready(role: TierRole, tier: Tier): Promise<void> {
  // A replica is read-only, so it can't be set up.
  if (role !== "replica") await tier.setup?.();
  else await pingTier(tier);
}

function unusable(role: TierRole, tier: Tier, error: unknown): StratigraphError {
  const [code, data] = StratigraphError.is(error) ? [error.code, error.data] : ["MISCONFIGURED" as const, {}];
  return new StratigraphError(
    code,
    `The ${role} tier (${tier.name}) can't be used: ${reasonOf(error)} Until this is put right, open the stack without it.`,
    { ...data, role, tier: tier.name },
    error,
  );
}
