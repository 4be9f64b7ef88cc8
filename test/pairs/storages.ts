import { MemoryTier, TierSaver, type SaverOptions, type Tier } from "@stratigraph/core";
import { PackTier } from "@stratigraph/s3";
import { BoundedMemoryTier, TieredSaver, type TieredSaverOptions } from "@stratigraph/tiered";
import type { Machine } from "../simulation/machine.ts";
import type { World } from "../simulation/world.ts";
import { Objects } from "./objects.ts";
import { RecordedTier } from "./recordedTier.ts";

/** A server that faults can happen to. */
export interface FaultyServer {
  away: Error | undefined;
  mark(): unknown;
  setBack(mark: unknown): Promise<void>;
  lose(): unknown;
}

/** A storage of several servers, and savers of several processes over it. */
export interface Storage {
  /** The servers that own threads. A copy elsewhere is no loss. */
  readonly owners: readonly FaultyServer[];
  readonly hot: FaultyServer | undefined;
  readonly cold: FaultyServer | undefined;
  /** How long a process may believe a copy after somebody else's deletion. */
  readonly trustsCopies: boolean;
  open(process: Machine, options?: SaverOptions): TierSaver;
  /** What is to be done before it is used. */
  readonly prepare?: () => Promise<void>;
}

/** Opens a tier as a process reaches it. */
export type Reach = (process: Machine) => Tier;

/** A server, and the way to it. */
export interface Reached {
  readonly faulty: FaultyServer;
  readonly reach: Reach;
}

function memory(world: World, name: string): Reached {
  const server = world.machine(name);
  const faulty = new RecordedTier((now) => new MemoryTier(now));
  return { faulty, reach: (process) => world.connect(process, server, faulty.tier) };
}

function bounded(world: World): Reached {
  const server = world.machine("hot");
  const faulty = new RecordedTier((clock) => new BoundedMemoryTier({ forgetAfter: "15m" }, clock));
  return { faulty, reach: (process) => world.connect(process, server, faulty.tier) };
}

/** Each process has a PackTier of its own over one bucket. */
export function pack(world: World, name: string): Reached {
  const server = world.machine(name);
  const faulty = new Objects();
  const reach: Reach = (process) =>
    new PackTier(world.connect(process, server, faulty as never) as unknown as Objects);
  return { faulty, reach };
}

export function alone({ faulty, reach }: Reached): Storage {
  const open = (process: Machine, options: SaverOptions = {}): TierSaver =>
    process.run(() => new TierSaver(reach(process), { pause: "0ms", ...options }));
  return { owners: [faulty], hot: undefined, cold: undefined, trustsCopies: false, open };
}

/** A stack of a hot, a warm and a cold tier. */
export function stackOf(
  [hot, warm, cold]: readonly [Reached, Reached, Reached],
  stacked: Partial<TieredSaverOptions> = {},
): Storage {
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
  return { owners: [warm.faulty, cold.faulty], hot: hot.faulty, cold: cold.faulty, trustsCopies, open };
}

function inMemory(world: World, cold: Reached, stacked?: Partial<TieredSaverOptions>): Storage {
  return stackOf([bounded(world), memory(world, "warm"), cold], stacked);
}

/** Every storage that needs no server, by its name in lists of pairs. */
export const storages = {
  memory: (world: World) => alone(memory(world, "storage")),
  pack: (world: World) => alone(pack(world, "storage")),
  "hot>warm>memory": (world: World) => inMemory(world, memory(world, "cold")),
  "hot>warm>pack": (world: World) => inMemory(world, pack(world, "cold")),
  trusted: (world: World) => inMemory(world, memory(world, "cold"), { consistency: "trusted" }),
} as const;

/** The names of those on real servers. */
export const serverStorages = [
  "postgres",
  "redis",
  "redis>postgres>pack",
  "redis>postgres>pack, trusted",
] as const;

export type ServerStorage = (typeof serverStorages)[number];
export type StorageName = keyof typeof storages | ServerStorage;
