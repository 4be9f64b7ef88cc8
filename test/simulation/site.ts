import { MemoryTier, type Tier } from "@stratigraph/core";
import { TieredSaver, type TieredSaverOptions } from "@stratigraph/tiered";
import { Ledger } from "./ledger.ts";
import type { Machine } from "./machine.ts";
import type { World } from "./world.ts";

export const monthMs = 30 * 86_400_000;

/** A warm tier, a hot one and an archive, as servers of their own, and savers of several processes over them. */
export class Site {
  readonly warm: Machine;
  readonly hot: Machine;
  readonly cold: Machine;
  /** What the servers hold. A test may put another tier in the place of one, as a restored backup or a lost database would. */
  readonly tiers: { warm: Tier; hot: Tier; cold: Tier };
  readonly #world: World;
  readonly #without: readonly string[];

  /** @param without optional methods that the warm tier hasn't got */
  constructor(world: World, without: readonly string[] = []) {
    this.#world = world;
    this.#without = without;
    [this.warm, this.hot, this.cold] = ["warm", "hot", "cold"].map((name) => world.machine(name)) as [
      Machine,
      Machine,
      Machine,
    ];
    this.tiers = {
      warm: this.warm.run(() => new MemoryTier()),
      hot: this.hot.run(() => new MemoryTier()),
      cold: this.cold.run(() => new MemoryTier()),
    };
  }

  /** A saver of a process. Its archiver takes every thread for idle. */
  open(process: Machine, options: Partial<TieredSaverOptions> = {}, now?: () => number): TieredSaver {
    const warm = this.#world.connect(process, this.warm, this.tiers.warm, this.#without);
    const hot = this.#world.connect(process, this.hot, this.tiers.hot);
    const cold = this.#world.connect(process, this.cold, this.tiers.cold);
    return process.run(() => opened({ hot, warm, cold, ...options }, now));
  }

  /** A saver for what happened before: no schedule changes anything of it. */
  before(): TieredSaver {
    return opened(this.tiers);
  }
}

function opened(options: TieredSaverOptions, now = (): number => Date.now() + monthMs): TieredSaver {
  const stack = { conflict: "throw", archiveAfter: "7d", pause: "0ms" } as const;
  return new TieredSaver({ ...stack, ...options }, now);
}

/** What a process loads only once is loaded outside of virtual time. */
export async function warmUp(): Promise<void> {
  const saver = new TieredSaver({ warm: new MemoryTier() });
  await new Ledger("first").turn(saver);
  await saver.end();
}
