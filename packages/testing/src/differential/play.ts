import type { BaseCheckpointSaver } from "@langchain/langgraph-checkpoint";
import { DURABILITIES, type Durability } from "../graphs/context.ts";
import { isAtLeast } from "../installedVersion.ts";
import type { Scenario } from "./scenario.ts";
import { type Played, Stage } from "./Stage.ts";

/** Before 1.5 the writes of parallel tasks to a DeltaChannel applied in the order of task ids, which are random. */
const tasksApplyInTheirOwnOrder = isAtLeast("@langchain/langgraph", "1.5.0");

/** Plays a scenario on one saver; gives all that could be seen. */
export const play = async (
  { ordersByTask = false, mutates = false, play: run }: Scenario,
  durability: Durability,
  open: () => Promise<BaseCheckpointSaver>,
): Promise<Played> => {
  const stage = new Stage(open, durability, {
    streams: mutates ? "none" : DURABILITIES.indexOf(durability) % 2 === 0 ? "odd" : "even",
    histories: !mutates || durability !== "async",
    ordered: tasksApplyInTheirOwnOrder || !ordersByTask,
  });
  await run(stage);
  return await stage.end();
};
