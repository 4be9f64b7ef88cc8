import type { BuildGraph, Stage } from "../stage.ts";

/** Turns of a graph with a list, each with an input of its own. */
export const turns = async (stage: Stage, build: BuildGraph, count: number): Promise<void> => {
  for (let turn = 0; turn < count; turn++) await stage.turn(build, { list: [`in ${turn}`] });
};
