import { inRounds } from "../rounds.ts";
import { warmUp } from "../simulation/site.ts";
import { explore } from "../simulation/simulate.ts";
import { brotliAtOnce } from "./brotliAtOnce.ts";
import { everyPair, nameOf } from "./everyPair.ts";
import { play, type Pair } from "./play.ts";
import { explorationOf, scheduleOf, timeout } from "./schedules.ts";
import { openServers, type Servers } from "./servers.ts";
import { serverStorages, type ServerStorage } from "./storages.ts";

// The pairs on PostgreSQL and Redis: their processes and wires are simulated as everywhere, what they say to the servers isn't.

let servers: Servers;
let restore: (() => void) | undefined;
beforeAll(async () => {
  restore = brotliAtOnce();
  await warmUp();
  servers = await openServers();
});
afterAll(async () => {
  restore?.();
  await servers.close();
});

/** In how many ways each two deeds are done, and of how many such tests one is run. */
const counts = inRounds({
  few: { ways: 1, every: 59 },
  all: { ways: 1, every: 11 },
  soak: { ways: 3, every: 1 },
});

const pairs = everyPair(serverStorages, counts.ways)
  .filter((_, index) => index % counts.every === 0)
  .map((pair): [string, Pair] => [nameOf(pair), pair]);

test.each(pairs)(
  "%s",
  async (name, pair) => {
    const open = servers.storages[pair.storage as ServerStorage];
    await explore((world) => play(world, pair, open), explorationOf(pair, [scheduleOf(name)]));
  },
  timeout,
);
