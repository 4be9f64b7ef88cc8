import { MemorySaver } from "@langchain/langgraph-checkpoint";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { DURABILITIES } from "../graphs/context.ts";
import type { OpenedSaver } from "../graphs/setup.ts";
import { officialDefects } from "./officialDefects.ts";
import { play } from "./play.ts";
import { scenarios } from "./scenarios.ts";
import type { Played } from "./Stage.ts";

/** Fails at the first thing that differs, and shows that one alone. */
const expectSame = (found: Played, wanted: Played): void => {
  for (const [index, note] of wanted.notes.entries())
    expect(found.notes[index], `note ${index}: ${note[0]}`).toEqual(note);
  expect(found.notes).toHaveLength(wanted.notes.length);
};

/**
 * Registers a vitest suite that plays the same scenarios on the official MemorySaver of the installed LangGraph and on a saver
 * under test, with every durability, and compares all that can be seen: results, chunks of streams, errors, states and
 * histories, each read by a saver newly opened over the same storage. Only ids and times may differ.
 *
 * Where the official MemorySaver of the installed version is known to be wrong, the savers must differ, and the saver under test
 * must read every state as it was live.
 *
 * @param name - name of the suite, usually the saver's
 * @param setup - opens the saver under test; called once, in `beforeAll`
 */
export const testDifferential = (name: string, setup: () => Promise<OpenedSaver>): void => {
  const defects = officialDefects();
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
      describe(`durability ${durability}`, () => {
        for (const scenario of scenarios) {
          const defect = defects.get(`${scenario.name}, ${durability}`);
          it(scenario.name, async () => {
            const official = new MemorySaver();
            const [wanted, found] = [
              await play(scenario, durability, async () => official),
              await play(scenario, durability, open),
            ];
            if (defect === undefined) return expectSame(found, wanted);
            expect(found.asLive).toBe(true);
            expect(found.notes, `The official MemorySaver is right here now: ${defect}`).not.toEqual(
              wanted.notes,
            );
          });
        }
      });
    }
  });
};
