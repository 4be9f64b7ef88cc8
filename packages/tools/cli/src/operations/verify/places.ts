import { StratigraphError, type Tier, type TierSaver } from "@stratigraph/core";
import { isReplicated, isStacked, ownersOf, type CheckpointCoder } from "@stratigraph/core/internal";
import type { OwningTier } from "@stratigraph/core/tier";

/** One storage that may hold a part of a thread. */
export interface Place {
  /** The tier's name, with a number if several have the same: "redis", "redis#2". */
  readonly name: string;
  /** Warm and cold tiers own what they hold. Hot ones hold copies of a part of it. Replicas follow the warm tier. */
  readonly role: "hot" | "warm" | "cold" | "replica";
  readonly tier: Tier;
  /** The tier through which its data is changed, so that copies of it are dropped, too. */
  readonly changes: Pick<OwningTier, "remove"> & Partial<Pick<OwningTier, "replaceBytes">>;
}

/** The storage that is verified: the tiers of a saver, and the coder that decodes their bytes. */
export interface Storage {
  /** The tier that runs use: a stack of the places, or the only one of them. */
  readonly tier: Tier;
  readonly coder: CheckpointCoder;
  /** Tiers that own data, the one that owns the heads first. */
  readonly owners: readonly Place[];
  /** Hot tiers, nearest first. */
  readonly copies: readonly Place[];
  readonly replicas: readonly Place[];
}

/** The places in which a saver's threads are. */
export function storageOf({ tier, coder }: Pick<TierSaver, "tier" | "coder">): Storage {
  const changing = ownersOf(tier);
  const counts = new Map<string, number>();
  const places = layersIn(tier, "warm").map(({ role, tier: each }): Place => {
    const times = (counts.get(each.name) ?? 0) + 1;
    counts.set(each.name, times);
    const name = times === 1 ? each.name : `${each.name}#${times}`;
    const isOwner = role === "warm" || role === "cold";
    return { name, role, tier: each, changes: isOwner ? changesOf(each, changing) : each };
  });
  return {
    tier,
    coder,
    owners: places.filter(({ role }) => role === "warm" || role === "cold"),
    copies: places.filter(({ role }) => role === "hot"),
    replicas: places.filter(({ role }) => role === "replica"),
  };
}

/** How a tier is changed so that copies are dropped. @throws StratigraphError if the stack names no such owner */
function changesOf(tier: Tier, owners: readonly OwningTier[]): OwningTier {
  const owner = owners.find((each) => each === tier || each.of === tier);
  if (owner !== undefined) return owner;
  const message = `The stack has a layer ${JSON.stringify(tier.name)} that it doesn't name among its owners, so it can't be changed together with its copies. Use packages of one version.`;
  throw new StratigraphError("MISCONFIGURED", message, { tier: tier.name });
}

/** Every place that may have a good copy of something, owners first. */
export function allPlaces({ owners, copies, replicas }: Storage): Place[] {
  return [...owners, ...copies, ...replicas];
}

/** The tiers of a stack, including those of stacks in it. @param role the tier's own role in the stack around it */
function layersIn(tier: Tier, role: Place["role"]): Pick<Place, "role" | "tier">[] {
  const replicas = isReplicated(tier)
    ? tier.replicas.map((each) => ({ role: "replica" as const, tier: each }))
    : [];
  if (!isStacked(tier)) return [{ role, tier }, ...replicas];
  const roleIn = (layer: Place["role"]): Place["role"] => (role === "warm" || layer === "hot" ? layer : role);
  return [...tier.layers.flatMap((layer) => layersIn(layer.tier, roleIn(layer.role))), ...replicas];
}
