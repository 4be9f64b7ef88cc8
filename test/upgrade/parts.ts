import type { Scenario } from "../../packages/tools/testing/src/differential/scenario.ts";
import type { Part } from "../../packages/tools/testing/src/differential/stage.ts";
import { scenarios } from "../../packages/tools/testing/src/differential/scenarios.ts";
import { inRounds } from "../rounds.ts";
import type { Durability } from "../../packages/tools/testing/src/graphs/durabilities.ts";

/** How many acts of each scenario are played with the older LangGraph, under which durability. */
const begun: readonly (readonly [acts: number, durability: Durability])[] = [
  [1, "async"],
  [2, "sync"],
  [3, "exit"],
];

/** One side of an upgrade in the middle of a scenario. */
export interface UpgradedScenario {
  readonly name: string;
  readonly scenario: Scenario;
  readonly durability: Durability;
  readonly part: Part;
}

/** Every scenario in two parts: `"to"` the upgrade, and `"from"` it on. At one place, but in a soak; with few rounds every second one. */
export const parts = (side: "to" | "from"): UpgradedScenario[] =>
  scenarios.flatMap((scenario, index) =>
    inRounds({
      few: index % 2 === 0 ? [begun[index % begun.length]!] : [],
      all: [begun[index % begun.length]!],
      soak: begun,
    }).map(([acts, durability]) => {
      const name = `${scenario.name}, ${durability}, upgraded after ${acts}`;
      const part: Part = {
        threadId: name,
        from: side === "from" ? acts : 0,
        ...(side === "to" ? { to: acts } : {}),
      };
      return { name, scenario, durability, part };
    }),
  );
