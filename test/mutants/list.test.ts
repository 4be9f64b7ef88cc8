import { allMutants, staleness } from "./allMutants.ts";

test("every mutant still applies, by a name of its own", async () => {
  const mutants = [...(await allMutants()).values()].flat();
  expect(mutants.length).toBeGreaterThan(100);
  expect(mutants.flatMap((mutant) => staleness(mutant) ?? []).join("\n")).toBe("");
  const ids = mutants.map(({ id }) => id);
  expect(ids.filter((id, place) => ids.indexOf(id) !== place)).toEqual([]);
});
