import { inRounds } from "../rounds.ts";
import { warmUp } from "../simulation/site.ts";
import { explore, firstFailure, type Exploration } from "../simulation/simulate.ts";
import { brotliAtOnce } from "./brotliAtOnce.ts";
import { deedOf } from "./deeds.ts";
import { everyPair, nameOf } from "./everyPair.ts";
import { found } from "./found.ts";
import { hesitations, play, type Pair } from "./play.ts";
import { isLeftOut, unmended } from "./unmended.ts";

let restore: (() => void) | undefined;
beforeAll(async () => {
  restore = brotliAtOnce();
  await warmUp();
});
afterAll(() => restore?.());

/** In how many ways each two deeds are done, with how many schedules each, and of how many such tests one is run. */
const counts = inRounds({
  few: { ways: 1, schedules: 1, every: 8 },
  all: { ways: 1, schedules: 1, every: 1 },
  soak: { ways: 10, schedules: 1, every: 1 },
});
/** More than any test takes: one that is given up goes on, and disturbs the time of the next one. Milliseconds. */
const timeout = 1_800_000;

/** Schedules in which nothing happens but that one call takes long: each of those that may. */
const hesitating = Array.from({ length: hesitations }, (_, chosen) => [chosen]);

/** The schedule of a test that plays one, by its name: another call takes long in each, and every second one has other trouble, too. */
function scheduleOf(name: string): number[] {
  const index = [...name].reduce((sum, letter) => (sum * 31 + letter.charCodeAt(0)) % 99_991, 7);
  const noise = Array.from({ length: 60 }, (_, n) => ((index * 7919 + n * 104_729) % 509) % 480);
  const trouble = noise.map((choice) => (choice < 240 ? choice : 0));
  return [(index * 11) % hesitations, ...(index % 2 === 0 ? [] : trouble)];
}

/** @param first the schedules that are played first */
function exploration({ deeds }: Pair, schedules: number, first: readonly number[][]): Exploration {
  const faults = Math.max(...deeds.map((name) => deedOf(name).faults ?? 0));
  return { schedules, first, choices: 120, faults };
}

const pairs = everyPair(counts.ways)
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
    await explore((world) => play(world, pair), exploration(pair, counts.schedules, first));
  },
  timeout,
);

test.each(found.map((pair) => [nameOf(pair), pair] as const))(
  "found before: %s",
  async (name, pair) => {
    const schedule = [...(pair.schedule ?? scheduleOf(name))];
    await explore((world) => play(world, pair), exploration(pair, 1, [schedule]));
  },
  timeout,
);

test.each(unmended.map((entry) => [nameOf(entry.seen), entry] as const))(
  "isn't mended yet: %s",
  async (_name, { finding, seen, told = /./ }) => {
    const failure = await firstFailure((world) => play(world, seen), exploration(seen, 60, hesitating));
    expect(failure ?? "", `${finding}: it isn't seen any more. Take it off the list`).toMatch(told);
  },
  timeout,
);
