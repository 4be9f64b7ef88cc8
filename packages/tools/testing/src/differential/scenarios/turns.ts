import type { BuildGraph, Stage } from "../stage.ts";

/** Runs several turns of a graph with a list, each with its own input. */
export const turns = async (stage: Stage, build: BuildGraph, count: number): Promise<void> => {
  for (let turn = 0; turn < count; turn++) await stage.turn(build, { list: [`in ${turn}`] });
};
