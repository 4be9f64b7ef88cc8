import type { Mutant } from "../mutant.ts";

/** Processes that die at a call of their storage, or within a payment. */
export const placedKillMutants: readonly Mutant[] = [
  {
    id: "kp01",
    kind: "guard",
    what: "a payment that is repeated after its process died has another idempotency key",
    file: "packages/features/journal/src/calls/callRunner.ts",
    find: "const { attempt, key = newIdempotencyKey(), of } = resolution;",
    replace: "const [{ attempt, of }, key] = [resolution, newIdempotencyKey()];",
    tests: ["packages/features/journal/test/kills/placed.test.ts"],
  },
];
