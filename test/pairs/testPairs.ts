import { inRounds } from "../rounds.ts";
import { warmUp } from "../simulation/site.ts";
import { explore } from "../simulation/simulate.ts";
import { brotliAtOnce } from "./brotliAtOnce.ts";
import { everyPair, nameOf } from "./everyPair.ts";
import { play, type Pair } from "./play.ts";
import { explorationOf, hesitating, scheduleOf, timeout } from "./schedules.ts";
import { storages, type StorageName } from "./storages.ts";
import { isLeftOut } from "./unmended.ts";

/** The file that has the pairs on a storage. All of them take half an hour in one file. */
const files = {
  memory: "pairs",
  pack: "pairs",
  "hot>warm>memory": "stacks",
  "hot>warm>pack": "packs",
  trusted: "trusted",
} as const satisfies Record<keyof typeof storages, string>;

/** In how many ways each two deeds are done, with how many schedules each, and of how many such tests one is run. */
const counts = inRounds({
  few: { ways: 1, schedules: 1, every: 11 },
  all: { ways: 1, schedules: 1, every: 1 },
  soak: { ways: 10, schedules: 1, every: 1 },
});

/** Tests every pair of deeds on the storages of one file. */
export function testPairs(file: (typeof files)[keyof typeof files]): void {
  let restore: (() => void) | undefined;
  beforeAll(async () => {
    restore = brotliAtOnce();
    await warmUp();
  });
  afterAll(() => restore?.());

  const pairs = everyPair(Object.keys(storages) as StorageName[], counts.ways)
    .filter((_, index) => index % counts.every === 0)
    .filter((pair) => !isLeftOut(pair) && files[pair.storage as keyof typeof files] === file)
    .map((pair): [string, Pair, number[][]] => [
      nameOf(pair),
      pair,
      counts.schedules === 1 ? [scheduleOf(nameOf(pair))] : hesitating,
    ]);

  test.each(pairs)(
    "%s",
    async (_name, pair, first) => {
      await explore((world) => play(world, pair), explorationOf(pair, first, counts.schedules));
    },
    timeout,
  );
}
