import { registerGroups } from "../graphs/context.ts";
import type { GraphSetup, GraphSuiteOptions } from "../graphs/setup.ts";
import { callsTests } from "./callsTests.ts";
import { deltaLineTests } from "./deltaLineTests.ts";
import { raceTests } from "./raceTests.ts";
import { reservedTests } from "./reservedTests.ts";
import { statusTests } from "./statusTests.ts";
import { stoppedRunTests } from "./stoppedRunTests.ts";
import { storedTests } from "./storedTests.ts";
import { valueAtCallTests } from "./valueAtCallTests.ts";

/** Options of `testPromises`, with the same meaning as in `testGraphs`. */
export type PromiseSuiteOptions = Pick<GraphSuiteOptions, "durabilities" | "every">;

/**
 * Registers a vitest suite of what Stratigraph promises beyond what LangGraph requires of a saver. Nothing that the loser of a race
 * wrote becomes part of the winner's result. Reading a DeltaChannel returns the whole value, or throws an error. Values are stored as they
 * were when the call was made. The records that Stratigraph's packages store beside a thread never appear as checkpoints. A thread's tool
 * calls stay until the thread is deleted. Threads are found by how they stand. The official savers don't promise this.
 *
 * @param name - name of the suite, usually the saver's
 * @param setup - opens the saver under test with its default `conflict`; called once, in `beforeAll`
 * @param options - the durabilities of the tests that take one, and which tests run. Default: each durability, and all tests.
 */
export const testPromises = (name: string, setup: GraphSetup, options: PromiseSuiteOptions = {}): void => {
  const groups = {
    races: raceTests,
    "lines of DeltaChannels": deltaLineTests,
    "values at the call": valueAtCallTests,
    "records of its own": reservedTests,
    "tool calls": callsTests,
    "waiting for a checkpoint": storedTests,
    "stopped runs": stoppedRunTests,
    status: statusTests,
  };
  registerGroups(`${name}: promises`, setup, groups, options);
};
