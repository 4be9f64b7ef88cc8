import fc from "fast-check";
import { channels } from "./edits.ts";

/** One step of a random history. Numbers that pick something are taken modulo what there is. */
export type Command =
  | {
      readonly do: "put";
      readonly saver: number;
      readonly thread: number;
      readonly namespace: "" | "sub";
      /** 0 to 5: from the head; above: from that checkpoint of the namespace. */
      readonly from: number;
      /** Channels that change, each by the edit of a seed; none: the step writes nothing. */
      readonly edits: readonly { readonly channel: string; readonly seed: number }[];
      readonly run: number;
      /** Channels that didn't change are in `newVersions` as well. */
      readonly generous: boolean;
      /** Pending writes arrive before the checkpoint. */
      readonly early: boolean;
    }
  | {
      readonly do: "write";
      readonly saver: number;
      readonly thread: number;
      readonly at: number;
      readonly task: number;
      readonly writes: readonly { readonly channel: string; readonly seed: number; readonly same: boolean }[];
    }
  | { readonly do: "putAgain"; readonly saver: number; readonly thread: number }
  | { readonly do: "scribble"; readonly saver: number; readonly thread: number; readonly at: number }
  | { readonly do: "prune"; readonly saver: number; readonly thread: number; readonly keepLast: number }
  | { readonly do: "deleteRun"; readonly saver: number; readonly run: number }
  | { readonly do: "copy"; readonly saver: number; readonly thread: number }
  | { readonly do: "deleteThread"; readonly saver: number; readonly thread: number };

const saver = fc.nat({ max: 1 });
const thread = fc.nat({ max: 3 });
const seed = fc.nat({ max: 2 ** 31 });
const channel = fc.constantFrom(...channels);
const run = fc.nat({ max: 6 });

const put = fc.record({
  do: fc.constant("put" as const),
  saver,
  thread: fc.oneof({ arbitrary: fc.constant(0), weight: 3 }, thread),
  namespace: fc.oneof({ arbitrary: fc.constant("" as const), weight: 6 }, fc.constant("sub" as const)),
  from: fc.nat({ max: 9 }),
  edits: fc.array(fc.record({ channel, seed }), { maxLength: 4 }),
  run,
  generous: fc.boolean(),
  early: fc.oneof({ arbitrary: fc.constant(false), weight: 4 }, fc.constant(true)),
});
const write = fc.record({
  do: fc.constant("write" as const),
  saver,
  thread,
  at: fc.nat({ max: 30 }),
  task: fc.nat({ max: 2 }),
  writes: fc.array(fc.record({ channel, seed, same: fc.boolean() }), { minLength: 1, maxLength: 4 }),
});

/** A step, puts four times as often as all else together. */
const command: fc.Arbitrary<Command> = fc.oneof(
  { arbitrary: put, weight: 64 },
  { arbitrary: write, weight: 10 },
  { arbitrary: fc.record({ do: fc.constant("putAgain" as const), saver, thread }), weight: 4 },
  {
    arbitrary: fc.record({ do: fc.constant("scribble" as const), saver, thread, at: fc.nat({ max: 30 }) }),
    weight: 6,
  },
  {
    arbitrary: fc.record({
      do: fc.constant("prune" as const),
      saver,
      thread,
      keepLast: fc.integer({ min: 1, max: 5 }),
    }),
    weight: 2,
  },
  { arbitrary: fc.record({ do: fc.constant("deleteRun" as const), saver, run }), weight: 2 },
  { arbitrary: fc.record({ do: fc.constant("copy" as const), saver, thread }), weight: 2 },
  { arbitrary: fc.record({ do: fc.constant("deleteThread" as const), saver, thread }), weight: 1 },
);

/** A random history of up to `most` steps. */
export function history(most: number): fc.Arbitrary<readonly Command[]> {
  return fc.array(command, { minLength: Math.floor(most / 3), maxLength: most, size: "max" });
}
