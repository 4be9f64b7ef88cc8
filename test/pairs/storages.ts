import { MemoryTier, TierSaver, type SaverOptions, type Tier } from "@stratigraph/core";
import { PackTier } from "@stratigraph/s3";
import { BoundedMemoryTier, TieredSaver, type TieredSaverOptions } from "@stratigraph/tiered";
import type { Machine } from "../simulation/machine.ts";
import type { World } from "../simulation/world.ts";
import { Objects } from "./objects.ts";
import { RecordedTier } from "./recordedTier.ts";

/** A server that faults can happen to. */
export interface Shelf {
  away: Error | undefined;
  mark(): number;
  setBack(mark: number): Promise<void>;
  lose(): void;
}

/** A storage of several servers, and savers of several processes over it. */
export interface Storage {
  /** The servers that own threads. A copy elsewhere is no loss. */
  readonly owners: readonly Shelf[];
  readonly hot: Shelf | undefined;
  readonly cold: Shelf | undefined;
  /** How long a process may believe a copy after somebody else's deletion. */
  readonly trustsCopies: boolean;
  open(process: Machine, options?: SaverOptions): TierSaver;
}

/** Opens a tier as a process reaches it. */
type Reach = (process: Machine) => Tier;

function memory(world: World, name: string): { shelf: Shelf; reach: Reach } {
  const server = world.machine(name);
  const shelf = new RecordedTier((now) => new MemoryTier(now));
  return { shelf, reach: (process) => world.connect(process, server, shelf.tier) };
}

function bounded(world: World): { shelf: Shelf; reach: Reach } {
  const server = world.machine("hot");
  const shelf = new RecordedTier((clock) => new BoundedMemoryTier({ maxIdle: "15m", clock }));
  return { shelf, reach: (process) => world.connect(process, server, shelf.tier) };
}

/** Each process has a PackTier of its own over one bucket. */
function pack(world: World, name: string): { shelf: Shelf; reach: Reach } {
  const server = world.machine(name);
  const shelf = new Objects();
  const reach: Reach = (process) =>
    new PackTier(world.connect(process, server, shelf as never) as unknown as Objects);
  return { shelf, reach };
}

function alone({ shelf, reach }: { shelf: Shelf; reach: Reach }): Storage {
  const open = (process: Machine, options: SaverOptions = {}): TierSaver =>
    process.run(() => new TierSaver(reach(process), { pause: "0ms", ...options }));
  return { owners: [shelf], hot: undefined, cold: undefined, trustsCopies: false, open };
}

function stack(
  world: World,
  cold: { shelf: Shelf; reach: Reach },
  stacked: Partial<TieredSaverOptions> = {},
): Storage {
  const [hot, warm] = [bounded(world), memory(world, "warm")];
  const open = (process: Machine, options: SaverOptions = {}): TierSaver =>
    process.run(
      () =>
        new TieredSaver({
          hot: hot.reach(process),
          warm: warm.reach(process),
          cold: cold.reach(process),
          archiveAfter: "7d",
          pause: "0ms",
          ...stacked,
          ...options,
        }),
    );
  const trustsCopies = stacked.consistency === "trusted";
  return { owners: [warm.shelf, cold.shelf], hot: hot.shelf, cold: cold.shelf, trustsCopies, open };
}

/** Every storage, by its name in lists of pairs. */
export const storages = {
  memory: (world: World) => alone(memory(world, "storage")),
  pack: (world: World) => alone(pack(world, "storage")),
  "hot>warm>memory": (world: World) => stack(world, memory(world, "cold")),
  "hot>warm>pack": (world: World) => stack(world, pack(world, "cold")),
  trusted: (world: World) => stack(world, memory(world, "cold"), { consistency: "trusted" }),
} as const;

export type StorageName = keyof typeof storages;
