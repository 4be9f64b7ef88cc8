import { inRounds } from "../rounds.ts";
import { warmUp } from "../simulation/site.ts";
import { explore, firstFailure } from "../simulation/simulate.ts";
import { brotliAtOnce } from "./brotliAtOnce.ts";
import { everyPair, nameOf } from "./everyPair.ts";
import { found } from "./found.ts";
import { play, type Pair } from "./play.ts";
import { storages, type StorageName } from "./storages.ts";
import { explorationOf, hesitating, scheduleOf, timeout } from "./schedules.ts";
import { isLeftOut, unmended } from "./unmended.ts";

let restore: (() => void) | undefined;
beforeAll(async () => {
  restore = brotliAtOnce();
  await warmUp();
});
afterAll(() => restore?.());

/** In how many ways each two deeds are done, with how many schedules each, and of how many such tests one is run. */
const counts = inRounds({
  few: { ways: 1, schedules: 1, every: 11 },
  all: { ways: 1, schedules: 1, every: 1 },
  soak: { ways: 10, schedules: 1, every: 1 },
});
const pairs = everyPair(Object.keys(storages) as StorageName[], counts.ways)
  .filter((_, index) => index % counts.every === 0)
  .filter((pair) => !isLeftOut(pair))
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

test.each(found.map((pair) => [nameOf(pair), pair] as const))(
  "found before: %s",
  async (name, pair) => {
    const schedule = [...(pair.schedule ?? scheduleOf(name))];
    await explore((world) => play(world, pair), explorationOf(pair, [schedule]));
  },
  timeout,
);

test.each(unmended.map((entry) => [nameOf(entry.seen), entry] as const))(
  "isn't mended yet: %s",
  async (_name, { finding, seen, told = /./ }) => {
    const failure = await firstFailure((world) => play(world, seen), explorationOf(seen, hesitating, 60));
    expect(failure ?? "", `${finding}: it isn't seen any more. Take it off the list`).toMatch(told);
  },
  timeout,
);
