import { randomUUID } from "node:crypto";
import { StratigraphError } from "@stratigraph/core";
import { trace } from "@stratigraph/core/internal";
import type { SetupOptions } from "../schema/setUp.ts";
import type { Shard } from "./shard.ts";
import { noIdentity, type ShardIdentity } from "./shardIdentity.ts";

/**
 * Sets up the databases of a set, and makes each the shard of its place in the list. A set that was set up before may be opened while
 * some of its databases can't be reached: these are traced ("unreachable"), and checked when they are first used.
 * @returns the family of the set
 * @throws StratigraphError "MISCONFIGURED" if a database is another shard, or isn't empty; "NOT_SET_UP" under `verifyOnly`;
 * what setting up throws
 */
export async function setUpShards(shards: readonly Shard[], options: SetupOptions): Promise<string> {
  // All databases are looked at before anything is created, so that a wrong list changes nothing.
  const found = new Map<Shard, ShardIdentity>();
  const [first] = shards as readonly [Shard];
  const look = async (shard: Shard): Promise<void> => {
    const identity = await shard.identityIfSetUp();
    if (identity !== undefined) found.set(shard, identity);
  };
  // Look at the first one before the others: if it says that the set is complete, the others were claimed before.
  const lookedAtFirst = look(first);
  const here = await reachable(shards, async (shard) => {
    if (shard === first) return await lookedAtFirst;
    await lookedAtFirst.catch(() => undefined);
    await look(shard);
  });
  let known: string | undefined;
  for (const shard of shards) {
    const identity = found.get(shard);
    if (identity === undefined) continue;
    known ??= identity.family;
    shard.accept(identity, known);
  }
  const missing = here.find((shard) => !found.has(shard));
  if (missing !== undefined) {
    const isComplete = found.get(first)?.complete === true;
    if (isComplete || here.length < shards.length) throw noIdentity(missing, isComplete);
  }
  await Promise.all(here.map((shard) => shard.setUp(options)));
  if (missing === undefined) return known!;
  if (options.verifyOnly === true) throw noIdentity(missing, false);
  // Every process claims the first shard first, so that all of them use its family.
  const { family } = found.get(first) ?? (await first.claim(known ?? randomUUID()));
  for (const shard of shards) if (!shard.isChecked) shard.accept(await shard.claim(family), family);
  await first.complete();
  return family;
}

/** The shards that can be reached. @throws what a call throws, and "UNAVAILABLE" if none can be reached */
async function reachable(
  shards: readonly Shard[],
  call: (shard: Shard) => Promise<void>,
): Promise<readonly Shard[]> {
  const outcomes = await Promise.allSettled(shards.map(call));
  const errors = outcomes.map((outcome) =>
    outcome.status === "rejected" ? (outcome.reason as unknown) : undefined,
  );
  const fatal = errors.find((error) => error !== undefined && !StratigraphError.is(error, "UNAVAILABLE"));
  const here = shards.filter((_, n) => errors[n] === undefined);
  if (fatal !== undefined) throw fatal;
  if (here.length === 0) throw errors[0];
  for (const [n, error] of errors.entries())
    if (error !== undefined) trace({ type: "unreachable", tier: shards[n]!.tier.name, role: "warm", error });
  return here;
}
