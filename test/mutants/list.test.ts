import { LEFT_OUT } from "../run/testFiles.mjs";
import { allMutants, staleness } from "./allMutants.ts";

test("every mutant still applies, by a name of its own", async () => {
  const mutants = [...(await allMutants()).values()].flat();
  expect(mutants.length).toBeGreaterThan(100);
  expect(mutants.flatMap((mutant) => staleness(mutant) ?? []).join("\n")).toBe("");
  const ids = mutants.map(({ id }) => id);
  expect(ids.filter((id, place) => ids.indexOf(id) !== place)).toEqual([]);
});

test("every mutant is seen by a file that few rounds don't leave out", async () => {
  const mutants = [...(await allMutants()).values()].flat();
  const unseen = mutants.filter(({ tests }) => tests.every((file) => LEFT_OUT.includes(file)));
  expect(unseen.map(({ id }) => id)).toEqual([]);
});
