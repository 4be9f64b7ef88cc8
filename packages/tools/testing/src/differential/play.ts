import type { BaseCheckpointSaver } from "@langchain/langgraph-checkpoint";
import { DURABILITIES, type Durability } from "../graphs/durabilities.ts";
import { isAtLeast } from "../installedVersion.ts";
import type { Scenario } from "./scenario.ts";
import { type Part, type Played, Stage } from "./stage.ts";

/** Before 1.5, LangGraph applied the writes of parallel tasks to a DeltaChannel in the order of task ids, which are random. */
const tasksApplyInTheirOwnOrder = isAtLeast("@langchain/langgraph", "1.5.0");

/**
 * Plays a scenario on one saver and returns everything that could be observed.
 *
 * @param part - the part to play, if another process, perhaps with an older LangGraph, plays the rest
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
