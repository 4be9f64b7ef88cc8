import type { Exploration } from "../simulation/simulate.ts";
import { deedOf } from "./deeds.ts";
import { hesitations, type Pair } from "./play.ts";

/** More than any test takes: one that is given up goes on, and disturbs the time of the next one. Milliseconds. */
export const timeout = 1_800_000;

/** Schedules in which nothing happens but that one call takes long: each of those that may. */
export const hesitating = Array.from({ length: hesitations }, (_, chosen) => [chosen]);

/** The schedule of a test that plays one, by its name: another call takes long in each, and every second one has other trouble, too. */
export function scheduleOf(name: string): number[] {
  const index = [...name].reduce((sum, letter) => (sum * 31 + letter.charCodeAt(0)) % 99_991, 7);
  const noise = Array.from({ length: 60 }, (_, n) => ((index * 7919 + n * 104_729) % 509) % 480);
  const trouble = noise.map((choice) => (choice < 240 ? choice : 0));
  return [(index * 11) % hesitations, ...(index % 2 === 0 ? [] : trouble)];
}

/** @param first the schedules that are played first; default: no others */
export function explorationOf(
  { deeds }: Pair,
  first: readonly number[][],
  schedules: number = first.length,
): Exploration {
  const faults = Math.max(...deeds.map((name) => deedOf(name).faults ?? 0));
  return { schedules, first, choices: 120, faults };
}
