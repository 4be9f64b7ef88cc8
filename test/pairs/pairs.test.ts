import { explore, firstFailure } from "../simulation/simulate.ts";
import { nameOf } from "./everyPair.ts";
import { found } from "./found.ts";
import { play } from "./play.ts";
import { explorationOf, hesitating, scheduleOf, timeout } from "./schedules.ts";
import { testPairs } from "./testPairs.ts";
import { unmended } from "./unmended.ts";

testPairs("pairs");

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
