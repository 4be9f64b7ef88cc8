import { CallGate, StratigraphError } from "@stratigraph/core";

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
      `${this.#most} calls wait for PostgreSQL already. Slow the writers down, give the pool more connections, or raise maxQueue.`,
      { tier: this.#database, maxQueue: this.#most },
    );
  }
}
