import type { Stage } from "./stage.ts";

/** Something that an application does with one thread. */
export interface Scenario {
  /** Unique over all scenarios. */
  name: string;
  /**
   * Parallel tasks write to a DeltaChannel. Before LangGraph 1.5 the order in which their writes apply is that of task ids, which
   * are random: there, lists are compared without their order, and whether the state is read as it was live.
   */
  ordersByTask?: boolean;
  /**
   * Something changes in place what LangGraph holds. Chunks and the checkpoints that wait to be put under "async" are those very
   * objects, and what they show depends on when somebody looks: nothing is streamed, and under "async" only what is there at the
   * end of each turn is compared.
   */
  mutates?: boolean;
  play(stage: Stage): Promise<void>;
}

/** Names scenarios after their keys. */
export const scenarioGroup = (
  plays: Readonly<Record<string, Scenario["play"]>>,
  options: Pick<Scenario, "ordersByTask" | "mutates"> = {},
): Scenario[] => Object.entries(plays).map(([name, play]) => ({ name, play, ...options }));
