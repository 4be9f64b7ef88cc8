import { StratigraphError, type TraceEvent } from "@stratigraph/core";
import type { Recorder } from "./recorder.ts";

const breakerStates = { closed: 0, "half-open": 1, open: 2 } as const;
/** OpenTelemetry's names of the systems behind our tiers. */
const systems: Readonly<Record<string, string>> = {
  postgres: "postgresql",
  pglite: "postgresql",
  redis: "redis",
  s3: "aws.s3",
};

/** OpenTelemetry's name of the system behind a tier; the tier's own name if it has none. */
export function systemOf(tier: string): string {
  return systems[tier] ?? tier;
}

/** A short name of an error, for a label or an attribute: a code of Stratigraph's, or the name of its class. */
export function errorType(error: unknown): string {
  if (StratigraphError.is(error)) return error.code;
  return error instanceof Error ? error.name : "unknown";
}

/** Turns events into measurements. Keeps state for measurements that need several events. */
export class Measure {
  readonly #to: Recorder;
  readonly #now: () => number;
  readonly #active = new Map<string, number>();

  /** @param now the clock: milliseconds since 1970 */
  constructor(to: Recorder, now: () => number = Date.now) {
    this.#to = to;
    this.#now = now;
  }

  take(event: TraceEvent): void {
    const to = this.#to;
    switch (event.type) {
      case "operation-start":
        return;
      case "operation":
        this.#operation(event);
        return;
      case "call-start":
        this.#activeCalls(event.tier, 1);
        return;
      case "call":
        this.#call(event);
        return;
      case "hot-read":
        to.record("hotReads", 1, { tier: event.tier, result: event.result });
        return;
      case "cache":
        to.record("cached", event.count, { tier: event.tier, result: event.result });
        return;
      case "conflict":
        to.record("conflicts", 1, { outcome: event.outcome });
        return;
      case "retry":
        to.record("retries", 1, { tier: event.tier });
        return;
      case "breaker":
        to.record("breakers", breakerStates[event.state], { tier: event.tier, use: event.use });
        return;
      case "copy-queue":
        to.record("queue", event.waiting, { tier: event.tier });
        to.record("queueBytes", event.bytes, { tier: event.tier });
        return;
      case "dropped":
        to.record("dropped", event.count, { tier: event.tier, what: event.what });
        return;
      case "late-write-dropped":
        to.record("lateWrites", 1, {});
        return;
      case "behind":
        to.record("behind", 1, { tier: event.tier });
        return;
      case "unreachable":
        to.record("unreachable", 1, { tier: event.tier, role: event.role });
        return;
      case "hook":
        to.record("hookFailures", 1, { hook: event.hook });
        return;
      case "maintenance":
        this.#maintenance(event);
        return;
      case "stored":
        this.#stored(event);
        return;
      case "verified":
        for (const severity of ["error", "warning", "info"] as const)
          to.record("damage", event.findings[severity], { severity });
        if (event.complete) to.record("verifiedAt", this.#seconds(), {});
        return;
      case "tool-call":
        to.record("toolCalls", event.ms / 1000, { tool: event.tool, outcome: event.outcome });
        return;
      case "brought":
      case "source-went-on":
        return;
    }
  }

  #operation({ method, outcome, ms, bytes, from, error }: Extract<TraceEvent, { type: "operation" }>): void {
    this.#to.record("operations", ms / 1000, {
      operation: method,
      outcome,
      "error.type": error === undefined ? "" : errorType(error),
    });
    if (bytes !== undefined && from !== "memory")
      this.#to.record("operationBytes", bytes, { operation: method });
    if (from !== undefined) this.#to.record("reads", 1, { source: from });
    if (method === "maintain" && outcome === "ok") this.#to.record("maintainedAt", this.#seconds(), {});
  }

  #call({ tier, method, ms, sent, received, error }: Extract<TraceEvent, { type: "call" }>): void {
    this.#activeCalls(tier, -1);
    this.#to.record("calls", ms / 1000, {
      "db.system.name": systemOf(tier),
      "db.operation.name": method,
      "stratigraph.tier": tier,
      "error.type": error === undefined ? "" : errorType(error),
    });
    if (sent !== undefined) this.#to.record("sent", sent, { tier });
    if (received !== undefined) this.#to.record("received", received, { tier });
  }

  /** Only the end is seen of calls that began before anybody listened, so the count is kept from going below zero. */
  #activeCalls(tier: string, change: 1 | -1): void {
    const now = Math.max(0, (this.#active.get(tier) ?? 0) + change);
    this.#active.set(tier, now);
    this.#to.record("callsActive", now, { tier });
  }

  #maintenance({ what, data }: Extract<TraceEvent, { type: "maintenance" }>): void {
    const { done, error } = Object(data) as { done?: unknown; error?: unknown };
    const outcome = error === undefined ? (done === false ? "left" : "done") : "failed";
    this.#to.record("maintained", 1, { what, outcome });
  }

  #stored({ threads, tiers }: Extract<TraceEvent, { type: "stored" }>): void {
    this.#to.record("storedThreads", threads, {});
    for (const { tier, bytes } of tiers) this.#to.record("storedBytes", bytes, { tier });
  }

  #seconds(): number {
    return this.#now() / 1000;
  }
}
