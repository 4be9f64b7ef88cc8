import type { Stage } from "./stage.ts";

/** A sequence of actions of an application on one thread. */
export interface Scenario {
  /** Unique among all scenarios. */
  name: string;
  /**
   * Whether parallel tasks write to a DeltaChannel. LangGraph before 1.5 applies their writes in the order of random task ids. There,
   * lists are compared without their order, and it is also compared whether the stored state is the one that the run returned.
   */
  ordersByTask?: boolean;
  /**
   * Whether nodes change objects that LangGraph holds. Streamed chunks, and with "async" the checkpoints that wait to be put, contain
   * the same objects, so their content depends on timing. Therefore nothing is streamed, and with "async" only the state at the end of
   * each turn is compared.
   */
  mutates?: boolean;
  play(stage: Stage): Promise<void>;
}

/** Makes scenarios. Their names are the keys. */
export const scenarioGroup = (
  plays: Readonly<Record<string, Scenario["play"]>>,
  options: Pick<Scenario, "ordersByTask" | "mutates"> = {},
): Scenario[] => Object.entries(plays).map(([name, play]) => ({ name, play, ...options }));
