import { StratigraphError } from "@stratigraph/core";
import type { Executor } from "../connection/client.ts";
import { PostgresTier } from "../postgresTier.ts";
import { explaining } from "../schema/rights.ts";
import { setUp, type SetupOptions } from "../schema/setUp.ts";
import { statementsIn } from "../schema/statements.ts";
import { checkIdentity, hasThreads, identityIn, noIdentity, type ShardIdentity } from "./shardIdentity.ts";

/** One of the databases that threads are spread over. */
export class Shard {
  readonly tier: PostgresTier;
  /** From 0. */
  readonly number: number;
  /** How many shards there are. */
  readonly shards: number;
  readonly #executor: Executor;
  readonly #sql: ReturnType<typeof statementsIn>;
  #checking: Promise<void> | undefined;
  #isChecked = false;

  constructor(
    executor: Executor,
    schema: string,
    place: { readonly number: number; readonly shards: number },
  ) {
    this.tier = new PostgresTier(executor, schema, shardName(place.number));
    this.number = place.number;
    this.shards = place.shards;
    this.#executor = explaining(executor, schema);
    this.#sql = statementsIn(schema);
  }

  /** Whether the database was seen to be this shard, so that it may be used. */
  get isChecked(): boolean {
    return this.#isChecked;
  }

  /** Creates or updates the schema. @throws what setUp throws */
  async setUp(options: SetupOptions): Promise<void> {
    await setUp(this.#executor, this.tier.schema, options);
  }

  /** The identity that is stored in the database; undefined if there is none. @throws StratigraphError */
  async identity(): Promise<ShardIdentity | undefined> {
    return identityIn((await this.#executor.run(this.#sql.shard)).rows);
  }

  /** Like {@link identity}, but undefined if there is no schema yet. */
  async identityIfSetUp(): Promise<ShardIdentity | undefined> {
    try {
      return await this.identity();
    } catch (error) {
      if (StratigraphError.is(error, "NOT_SET_UP")) return undefined;
      throw error;
    }
  }

  /** Makes the database this shard, if it has no threads. @throws StratigraphError "MISCONFIGURED" if it has some */
  async claim(family: string): Promise<ShardIdentity> {
    const values = [this.number, this.shards, family];
    const { rows } = await this.#executor.run({ ...this.#sql.claimShard, values });
    // If there is no row, another process has claimed it just now, or it has threads.
    const claimed = identityIn(rows) ?? (await this.identity());
    if (claimed === undefined) throw hasThreads(this);
    return claimed;
  }

  /** Notes that all databases of the set have been claimed. */
  async complete(): Promise<void> {
    await this.#executor.run(this.#sql.completeShards);
  }

  /** Notes that the database is this shard. @param family the family of the others, if known @throws StratigraphError "MISCONFIGURED" */
  accept(found: ShardIdentity, family: string | undefined): void {
    checkIdentity(found, this, family);
    this.#isChecked = true;
  }

  /**
   * Checks whether the database is this shard; calls at the same time share one check. A failure is not remembered.
   * @param familyOf receives the family that was found, and returns the family of the other shards
   * @throws StratigraphError "MISCONFIGURED", "NOT_SET_UP", or what a call throws
   */
  async check(familyOf: (found: string) => string): Promise<void> {
    this.#checking ??= this.#look(familyOf).finally(() => {
      this.#checking = undefined;
    });
    await this.#checking;
  }

  async #look(familyOf: (found: string) => string): Promise<void> {
    const found = await this.identity();
    if (found === undefined) throw noIdentity(this, false);
    this.accept(found, familyOf(found.family));
  }
}

/** What a shard is called in errors and traces. */
export function shardName(number: number): string {
  return `postgres#${number + 1}`;
}
