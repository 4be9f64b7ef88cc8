import { MemorySaver } from "@langchain/langgraph-checkpoint";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { DURABILITIES, type Durability, durabilitiesOf, turnsOf } from "../graphs/durabilities.ts";
import type { GraphSuiteOptions, OpenedSaver } from "../graphs/setup.ts";
import { officialExceptions } from "./officialExceptions.ts";
import { play } from "./play.ts";
import type { Scenario } from "./scenario.ts";
import { scenarios } from "./scenarios.ts";
import { type Note, type Played, readAsLive } from "./stage.ts";

const playOfficial = (scenario: Scenario, durability: Durability): Promise<Played> => {
  const official = new MemorySaver();
  return play(scenario, durability, async () => official);
};

const played = new Map<string, Promise<Played>>();

/** Plays a scenario on the official MemorySaver, once for all suites of a file. */
const officially = (scenario: Scenario, durability: Durability): Promise<Played> => {
  const key = `${scenario.name}, ${durability}`;
  const play = played.get(key) ?? playOfficial(scenario, durability);
  played.set(key, play);
  return play;
};

/** Asserts that all notes are equal. Fails at the first one that differs, and shows only that. */
const expectSame = (found: readonly Note[], wanted: readonly Note[]): void => {
  for (const [index, note] of wanted.entries())
    expect(found[index], `note ${index}: ${note[0]}`).toEqual(note);
  expect(found).toHaveLength(wanted.length);
};

const expectDifferent = (found: Played, wanted: Played, reason: string): void => {
  expect(found.notes, `No difference any more; the one there was: ${reason}`).not.toEqual(wanted.notes);
};

/** How many times a scenario is played at most to show that an order gets lost at random. */
const attempts = 12;

/** Asserts that everything is equal except the order that LangGraph loses, and that the order does get lost. */
const expectUnordered = async (
  scenario: Scenario,
  durability: Durability,
  [found, wanted]: readonly [Played, Played],
  reason: string,
): Promise<void> => {
  const without = (notes: readonly Note[]) => notes.filter(([label]) => label !== readAsLive);
  expectSame(without(found.notes), without(wanted.notes));
  let lost = !wanted.asLive;
  for (let attempt = 0; !lost && attempt < attempts; attempt++)
    lost = !(await playOfficial(scenario, durability)).asLive;
  expect(lost, `The order is kept now; it was not: ${reason}`).toBe(true);
};

/** Options of `testDifferential`. */
export type DifferentialOptions = Pick<GraphSuiteOptions, "durabilities" | "every">;

/**
 * Registers a vitest suite that plays the same scenarios on the official MemorySaver of the installed LangGraph and on a saver
 * under test, with each durability, and compares everything that can be observed: results, chunks of streams, errors, states and
 * histories, each read by a saver newly opened over the same storage. Only ids and times may differ.
 *
 * If the official MemorySaver of the installed version is known to be wrong in a scenario, the savers must differ, and every state that
 * the saver under test reads must be the one that the run returned.
 *
 * @param name - name of the suite, usually the saver's
 * @param setup - opens the saver under test; called once, in `beforeAll`
 * @param options - the durabilities with which scenarios are played, and which scenarios. Default: each.
 */
export const testDifferential = (
  name: string,
  setup: () => Promise<OpenedSaver>,
  options: DifferentialOptions = {},
): void => {
  const exceptions = officialExceptions();
  const durabilities = durabilitiesOf(name, options.durabilities);
  const isItsTurn = turnsOf(name, options.every);
  const plays = scenarios
    .filter(() => isItsTurn())
    .map((scenario) => ({ scenario, durabilities: durabilities() }));
  describe(`${name} as the official MemorySaver`, () => {
    let opened: OpenedSaver | undefined;
    beforeAll(async () => {
      opened = await setup();
    });
    afterAll(async () => {
      await opened?.close();
    });
    const open = async () => {
      if (opened === undefined) throw new Error("The saver is open only while tests run");
      return opened.second === undefined ? opened.saver : await opened.second();
    };
    for (const durability of DURABILITIES) {
      const due = plays.filter((each) => each.durabilities.includes(durability));
      if (due.length === 0) continue;
      describe(`durability ${durability}`, () => {
        for (const { scenario } of due) {
          const { kind, reason = "" } = exceptions.get(`${scenario.name}, ${durability}`) ?? {};
          it(scenario.name, async () => {
            const wanted = await officially(scenario, durability);
            const found = await play(scenario, durability, open);
            if (kind === "differs") expect(found.asLive).toBe(true);
            if (kind === "differs" || kind === "differs, unordered") expectDifferent(found, wanted, reason);
            else if (kind === "unordered")
              await expectUnordered(scenario, durability, [found, wanted], reason);
            else expectSame(found.notes, wanted.notes);
          });
        }
      });
    }
  });
};
