import { MemorySaver } from "@langchain/langgraph-checkpoint";
import { describe, expect, it } from "vitest";
import { officialExceptions } from "../src/differential/officialExceptions.ts";
import { play } from "../src/differential/play.ts";
import { scenarios } from "../src/differential/scenarios.ts";
import { readAsLive } from "../src/differential/stage.ts";
import { inRounds } from "../../../../test/rounds.ts";
import { DURABILITIES } from "../src/graphs/durabilities.ts";

// Two of the same: what differs here differs from run to run, and could not be compared.
describe("what is compared is the same in every run", () => {
  for (const [turn, durability] of DURABILITIES.entries()) {
    const kinds = officialExceptions();
    for (const scenario of scenarios.filter((_, index) => inRounds({ few: index % 3 === turn, all: true }))) {
      it(`${scenario.name}, ${durability}`, async () => {
        const played = await Promise.all(
          [new MemorySaver(), new MemorySaver()].map((saver) =>
            play(scenario, durability, async () => saver),
          ),
        );
        const unordered = kinds.get(`${scenario.name}, ${durability}`)?.kind.includes("unordered");
        const [one, two] = played.map(({ notes }) =>
          notes.filter(([label]) => !unordered || label !== readAsLive),
        );
        expect(one).toEqual(two);
      });
    }
  }
});
