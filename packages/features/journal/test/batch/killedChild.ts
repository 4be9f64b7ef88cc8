import { setImmediate as turn } from "node:timers/promises";
import { appendFileSync } from "node:fs";
import { batch, createJournal } from "@stratigraph/journal";
import { createCheckpointer, type CheckpointerConfig } from "stratigraph";
import { every, total, type BatchDone, type BatchOrders } from "./killed.ts";

// A batch, in a process that kills itself in the work of an item.

const { place, thread, effects, file, dieAt } = JSON.parse(process.argv[2]!) as BatchOrders;
const saver = await createCheckpointer(place as unknown as CheckpointerConfig);
const journal = createJournal(saver);
const items = Array.from({ length: total }, (_, n) => `item ${n}`);
let begun = 0;
const { done, before, ambiguities } = await batch(
  journal,
  { configurable: { thread_id: thread } },
  // Another order each time.
  items.toSorted(() => Math.random() - 0.5),
  { id: "kills", key: (item) => item, effects, recordEvery: every, parallel: 2 },
  async (item, { idempotencyKey }) => {
    begun += 1;
    appendFileSync(file, `${item} ${idempotencyKey}\n`);
    if (begun === dieAt) process.kill(process.pid, "SIGKILL");
    await turn();
  },
);
await journal.end();
await saver.end();
process.send!({ done, before, ambiguous: ambiguities.map(({ key }) => key) } satisfies BatchDone);
process.disconnect();
