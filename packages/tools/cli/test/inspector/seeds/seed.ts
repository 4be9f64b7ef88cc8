import type { TierSaver } from "@stratigraph/core";
import { seedChat } from "./chat.ts";
import { seedHostile } from "./hostile.ts";
import { seedLarge, seedLong } from "./large.ts";
import { seedRace } from "./race.ts";
import { seedResearch } from "./research.ts";
import { seedStopped } from "./stopped.ts";
import { seedSupport } from "./support.ts";
import { seedTrip } from "./trip.ts";
import { seedWorkspace } from "./workspace.ts";

const SEEDS = {
  chat: seedChat,
  hostile: seedHostile,
  large: seedLarge,
  long: (saver: TierSaver) => seedLong(saver),
  research: seedResearch,
  race: seedRace,
  stopped: seedStopped,
  trip: seedTrip,
  support: seedSupport,
  workspace: seedWorkspace,
};

/** What a storage can be filled with. */
export type SeedName = keyof typeof SEEDS;

/** What looks like a small shop's agents. */
export const everyday: readonly SeedName[] = ["chat", "research", "race", "stopped", "trip", "support"];

/** Everything there is, hostile and large threads included. */
export const everything: readonly SeedName[] = ["long", "large", "hostile", "workspace", ...everyday];

/** Fills a storage with threads of real graphs, one seed after the other: the last one is the newest. */
export async function seed(saver: TierSaver, names: readonly SeedName[] = everyday): Promise<void> {
  for (const name of names) await SEEDS[name](saver);
}
