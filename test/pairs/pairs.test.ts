import { inRounds } from "../rounds.ts";
import { warmUp } from "../simulation/site.ts";
import { explore, firstFailure, type Exploration } from "../simulation/simulate.ts";
import { brotliAtOnce } from "./brotliAtOnce.ts";
import { deedOf } from "./deeds.ts";
import { everyPair, nameOf } from "./everyPair.ts";
import { hesitations, play, type Pair } from "./play.ts";
import { isLeftOut, unmended } from "./unmended.ts";

let restore: (() => void) | undefined;
beforeAll(async () => {
  restore = brotliAtOnce();
  await warmUp();
});
afterAll(() => restore?.());

/** How many ways there are to do each two deeds, with how many schedules, and of how many tests one is done. */
const counts = inRounds({
  few: { ways: 1, schedules: 1, every: 4 },
  all: { ways: 2, schedules: 2, every: 1 },
  soak: { ways: 1000, schedules: 60, every: 1 },
});
/** More than any test takes: one that is given up goes on, and disturbs the time of the next one. */
const timeout = 1_800_000;

/** @param first whose call hesitates, in the schedules that are played first */
function exploration({ deeds }: Pair, schedules: number, first: readonly number[]): Exploration {
  const faults = Math.max(...deeds.map((name) => deedOf(name).faults ?? 0));
  return { schedules, first: first.map((chosen) => [chosen]), choices: 120, faults };
}

const each = Array.from({ length: hesitations }, (_, chosen) => chosen);

const pairs = everyPair(counts.ways)
  .filter((pair) => !isLeftOut(pair))
  .filter((_, index) => index % counts.every === 0)
  .map((pair, index): [string, Pair, number[]] => [
    nameOf(pair),
    pair,
    counts.schedules > hesitations ? each : [(index * 11) % hesitations],
  ]);

test.each(pairs)(
  "%s",
  async (_name, pair, first) => {
    await explore((world) => play(world, pair), exploration(pair, counts.schedules, first));
  },
  timeout,
);

test.each(unmended.map((entry) => [nameOf(entry.seen), entry] as const))(
  "isn't mended yet: %s",
  async (_name, { finding, seen, told = /./ }) => {
    const found = await firstFailure((world) => play(world, seen), exploration(seen, 60, each));
    expect(found ?? "", `${finding}: it isn't seen any more. Take it off the list`).toMatch(told);
  },
  timeout,
);
