import type { Tier } from "@stratigraph/core";
import { isReplicated, isStacked } from "@stratigraph/core/internal";
import { TierProbe, type ProbedTier } from "./tierProbe.ts";

/** Whether a process can serve. */
export interface Readiness {
  /**
   * - "ready": every tier answers
   * - "degraded": it serves, but an optional tier doesn't answer, or one of several databases that threads are spread over
   * - "draining": it is about to end, and takes no new runs soon, or already
   * - "unavailable": the tier that owns the threads doesn't answer; of several databases, none does
   */
  readonly status: "ready" | "degraded" | "draining" | "unavailable";
  /** Nearest first. */
  readonly tiers: readonly ProbedTier[];
}

/** Asks the tiers of a checkpointer whether they would serve now. Callers that come while it is asked share the answer. */
export class ReadinessCheck {
  readonly #probes: readonly TierProbe[];
  readonly #timeoutMs: number;
  #asking: Promise<readonly ProbedTier[]> | undefined;

  /** @param timeoutMs how long each tier may take; they are asked at the same time. Milliseconds */
  constructor(tier: Tier, timeoutMs: number) {
    this.#probes = probesOf(tier);
    this.#timeoutMs = timeoutMs;
  }

  /** Never rejects. @param isDraining read when the tiers have answered */
  async check(isDraining: () => boolean): Promise<Readiness> {
    this.#asking ??= this.#ask().finally(() => (this.#asking = undefined));
    const tiers = await this.#asking;
    return { status: isDraining() ? "draining" : statusOf(tiers), tiers };
  }

  async #ask(): Promise<readonly ProbedTier[]> {
    return await Promise.all(this.#probes.map((probe) => probe.ask(this.#timeoutMs)));
  }
}

function statusOf(tiers: readonly ProbedTier[]): "ready" | "degraded" | "unavailable" {
  // Threads of a database that is down can't be served by any other process either, so this one is as good as all.
  if (!tiers.some(({ role, ok }) => role === "warm" && ok)) return "unavailable";
  return tiers.every(({ ok }) => ok) ? "ready" : "degraded";
}

function probesOf(tier: Tier): TierProbe[] {
  const layers = isStacked(tier) ? tier.layers : [{ role: "warm" as const, tier }];
  const replicas = isReplicated(tier) ? tier.replicas : [];
  return [
    ...layers.flatMap(({ tier: layer, role }) => partsOf(layer).map((part) => new TierProbe(part, role))),
    ...replicas.map((replica) => new TierProbe(replica, "replica")),
  ];
}

/** The databases that a tier spreads threads over; the tier alone if there is only one. */
function partsOf(tier: Tier): readonly Tier[] {
  const { parts } = tier as { readonly parts?: readonly Tier[] };
  return parts ?? [tier];
}
