import fc from "fast-check";
import { asScenario } from "./machine.ts";
import { VirtualClock } from "./virtualClock.ts";
import { World, type Chances } from "./world.ts";

/** How a scenario is explored. */
export interface Exploration extends Chances {
  /** How many schedules. */
  readonly schedules: number;
  /** How many choices differ, at most, from what would happen without any trouble. Default 60. */
  readonly choices?: number | undefined;
  /** Schedules that are played first. */
  readonly first?: readonly (readonly number[])[] | undefined;
}

/** A test in virtual time, whose order of things the test itself decides: calls that it holds, and time that it lets pass. */
export async function simulate(scenario: (world: World) => Promise<void>): Promise<void> {
  const clock = new VirtualClock();
  const uninstall = clock.install();
  try {
    await play(new World(clock), scenario);
  } finally {
    uninstall();
  }
}

/**
 * Plays a scenario with many schedules. The seed is always the same, so that a test which passed fails by a change only; the variable
 * STRATIGRAPH_SIMULATION_SEED names another one. A schedule that fails is made as short as possible, and told with its seed.
 */
export async function explore(
  scenario: (world: World) => Promise<void>,
  exploration: Exploration,
): Promise<void> {
  const { run, report } = await played(scenario, exploration);
  if (run.failed) throw new Error(await report(), { cause: run.errorInstance });
}

/** Plays a scenario as {@link explore} does, until a schedule fails. @returns what failed, as it came; undefined if nothing did */
export async function firstFailure(
  scenario: (world: World) => Promise<void>,
  exploration: Exploration,
): Promise<string | undefined> {
  const { run, report } = await played(scenario, exploration, { endOnFailure: true });
  return run.failed ? await report() : undefined;
}

async function played(
  scenario: (world: World) => Promise<void>,
  { schedules, choices = 60, first = [], ...chances }: Exploration,
  how: { readonly endOnFailure?: boolean } = {},
): Promise<{ run: fc.RunDetails<[number[]]>; report: () => Promise<string> }> {
  const seed = Number(process.env["STRATIGRAPH_SIMULATION_SEED"] ?? 1);
  // Half of them differ in a few places only from what would happen anyway, as most real accidents do.
  const choice = fc.oneof(
    { weight: 1, arbitrary: fc.constant(0) },
    { weight: 1, arbitrary: fc.nat({ max: 239 }) },
  );
  const schedule = fc.array(choice, { maxLength: choices, size: "max" });
  const clock = new VirtualClock();
  const uninstall = clock.install();
  try {
    const property = fc.asyncProperty(schedule, async (chosen) => {
      clock.reset();
      await play(new World(clock, chosen, chances), scenario);
    });
    const examples = first.map((chosen): [number[]] => [[...chosen]]);
    const run = await fc.check(property, {
      seed,
      numRuns: schedules,
      includeErrorInReport: true,
      examples,
      ...how,
    });
    return { run, report: async () => (await fc.asyncDefaultReportMessage(run)) ?? "" };
  } finally {
    uninstall();
  }
}

async function play(world: World, scenario: (world: World) => Promise<void>): Promise<void> {
  try {
    await asScenario(() => world.drive(() => scenario(world)));
  } catch (error) {
    const told = error instanceof Error ? (error.stack ?? error.message) : String(error);
    throw new Error(`${told}\n\nWhat happened:\n${world.story.join("\n")}`, { cause: error });
  }
}
