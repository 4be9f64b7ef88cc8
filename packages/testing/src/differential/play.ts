import type { BaseCheckpointSaver } from "@langchain/langgraph-checkpoint";
import { DURABILITIES, type Durability } from "../graphs/durabilities.ts";
import { isAtLeast } from "../installedVersion.ts";
import type { Scenario } from "./scenario.ts";
import { type Part, type Played, Stage } from "./stage.ts";

/** Before 1.5 the writes of parallel tasks to a DeltaChannel applied in the order of task ids, which are random. */
const tasksApplyInTheirOwnOrder = isAtLeast("@langchain/langgraph", "1.5.0");

/**
 * Plays a scenario on one saver; gives all that could be seen.
 *
 * @param part - where other parts of the scenario are played by somebody else, maybe with an older LangGraph
 */
export const play = async (
  { ordersByTask = false, mutates = false, play: run }: Scenario,
  durability: Durability,
  open: () => Promise<BaseCheckpointSaver>,
  part?: Part,
): Promise<Played> => {
  const stage = new Stage(open, durability, {
    streams: mutates ? "none" : DURABILITIES.indexOf(durability) % 2 === 0 ? "odd" : "even",
    histories: !mutates || durability !== "async",
    ordered: !ordersByTask || (tasksApplyInTheirOwnOrder && part === undefined),
    part,
  });
  return await stage.run(run);
};
