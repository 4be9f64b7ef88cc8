import { StratigraphError } from "@stratigraph/core";
import { CallGate, Observation, type CallObservation } from "@stratigraph/core/internal";
import type { PgQuery, PgResult } from "./client.ts";

/** Makes a call, and reports its start and its end to observers. Without observers this costs nothing, not even a promise. */
export function observedCall(tier: string, query: PgQuery, work: () => Promise<PgResult>): Promise<PgResult> {
  const { method, threadId, batch } = query;
  const observation: CallObservation | undefined = Observation.of({
    type: "call-start",
    tier,
    method,
    ...(threadId === undefined ? {} : { threadId }),
    ...(batch === undefined || batch === 1 ? {} : { batch }),
  });
  if (observation === undefined) return work();
  return observation.run(work, (end) => ({
    sent: sizeOf(query.values ?? []),
    ...("answer" in end ? { received: sizeOf(end.answer.rows.flatMap(Object.values)) } : end),
  }));
}

/** Bytes of arguments or columns, roughly: numbers aren't counted, and strings by their characters. Undefined if there are none. */
function sizeOf(values: readonly unknown[]): number | undefined {
  let bytes = 0;
  for (const value of values) {
    if (typeof value === "string") bytes += value.length;
    else if (value instanceof Uint8Array) bytes += value.length;
    else if (Array.isArray(value)) bytes += sizeOf(value) ?? 0;
  }
  return bytes === 0 ? undefined : bytes;
}

/** Admits calls up to a limit, and none after it was closed. A statement that timed out counts until the server has ended it. */
export class BoundedCallGate extends CallGate {
  readonly #database: string;
  readonly #most: number;

  /** @param most how many calls may be under way at once */
  constructor(tier: string, most: number) {
    super(tier);
    this.#database = tier;
    this.#most = most;
  }

  /** @throws StratigraphError "CLOSED", "OVERLOADED" */
  override enter(): () => void {
    const leave = super.enter();
    if (this.underWay <= this.#most) return leave;
    leave();
    throw new StratigraphError(
      "OVERLOADED",
      `${this.#most} calls wait for PostgreSQL already. Slow the writers down, give the pool more connections, or raise maxCalls.`,
      { tier: this.#database, maxCalls: this.#most },
    );
  }
}
