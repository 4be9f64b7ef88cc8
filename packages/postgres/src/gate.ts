import { CallGate, StratigraphError } from "@stratigraph/core";

/** Lets calls in: so many at once, and none once it is closed. Statements that nobody waits for any more count too. */
export class Gate extends CallGate {
  readonly #database: string;
  readonly #most: number;

  /** @param most calls that may be under way at once */
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
