import type { KeysInUseOptions } from "@stratigraph/core";
import { z } from "zod";
import type { Complete } from "../change/complete.ts";
import { columns, shown } from "../render/columns.ts";
import { texts } from "../table/fields.ts";
import { operation } from "../table/operation.ts";

/** Which keys data is encrypted with. */
export const keys = operation({
  name: "keys",
  group: "storage",
  effect: "read",
  summary: "Tell which keys the stored data is encrypted with, and how much isn't. Needs no key.",
  args: ["thread"],
  examples: ["stratigraph keys", "stratigraph keys ada bob"],
  input: z.object({
    thread: texts(
      "Ids of threads, taken literally. Default: all threads and all items of stores and workspaces. All stored data is then read once.",
    ),
  }),
  output: z.object({
    items: z.array(
      z.object({
        key: z.string().optional().describe("Id of the key; absent for what isn't encrypted."),
        threads: z.number().describe("Threads that hold something under it."),
        checkpoints: z.number().describe("Checkpoints under it. Their values are counted in `values`."),
        writes: z.number().describe("Batches of pending writes."),
        values: z.number(),
        storeItems: z.number().describe("Items of stores and workspaces, and entries of workspaces' logs."),
      }),
    ),
    unlisted: z.number().describe("Values that no checkpoint names any more, whose key can't be told."),
    failed: z
      .array(z.object({ thread: z.string().optional(), error: z.string() }))
      .describe(
        "Threads and items that could not be read, and why. They are in no count, and may hold something under any key.",
      ),
  }),
  async run({ thread }, context) {
    const saver = await context.saver();
    const failed: { thread?: string; error: string }[] = [];
    const options: Complete<KeysInUseOptions> = {
      threadIds: thread.length === 0 ? undefined : thread,
      onDamaged: ({ message, data: { threadId } }) =>
        void failed.push({ ...(typeof threadId === "string" ? { thread: threadId } : {}), error: message }),
    };
    const { keys: found, unlisted } = await saver.keysInUse(options);
    const items = found.map(({ keyId, threads, records, writes, blobs, items: storeItems }) => ({
      ...(keyId === undefined ? {} : { key: keyId }),
      threads,
      checkpoints: records,
      writes,
      values: blobs,
      storeItems,
    }));
    return { items, unlisted, failed };
  },
  *render({ items, unlisted, failed }) {
    if (items.length === 0 && failed.length === 0) yield "Nothing is stored.";
    if (items.length > 0) {
      const rows = items.map(({ key, threads, checkpoints, writes, values, storeItems }) => [
        key ?? "(not encrypted)",
        ...[threads, checkpoints, writes, values, storeItems].map(String),
      ]);
      yield* columns(
        [["KEY", "THREADS", "CHECKPOINTS", "WRITES", "VALUES", "ITEMS"], ...rows],
        [1, 2, 3, 4, 5],
      );
    }
    for (const { thread, error } of failed)
      yield `NOT READ ${[thread, error].flatMap((text) => (text === undefined ? [] : shown(text))).join(": ")}`;
    if (unlisted > 0) yield `${unlisted} values that no checkpoint names any more aren't counted.`;
  },
  found: ({ failed }) => failed.length > 0,
});
