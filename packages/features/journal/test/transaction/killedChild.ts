import { appendFileSync } from "node:fs";
import { createJournal, transaction } from "@stratigraph/journal";
import { createCheckpointer, type CheckpointerConfig } from "stratigraph";
import { booking } from "../support/booking.ts";
import type { KilledOrders, KillPoint } from "./killed.ts";

// A transaction of two bookings, in a process that kills itself at one place.

const { place, thread, world, die } = JSON.parse(process.argv[2]!) as KilledOrders;
const saver = await createCheckpointer(place as unknown as CheckpointerConfig);
const reached = (point: KillPoint): void => {
  if (point === die) process.kill(process.pid, "SIGKILL");
};

let cancelled = 0;
const told = {
  push: (line: string): number => {
    const cancels = line.startsWith("cancel");
    if (cancels && cancelled === 0) reached("in the rollback, before the first compensation");
    if (cancels) cancelled += 1;
    if (cancelled === 2) reached("in the rollback, in the second compensation");
    appendFileSync(world, `${line}\n`);
    if (cancelled === 2) reached("in the rollback, after the second compensation");
    return 0;
  },
};

const { tier } = saver;
const append = tier.append.bind(tier);
tier.append = async (request) => {
  const moves = request.threadId === thread && request.heads.some(({ namespace }) => namespace === "");
  if (moves) reached("before the head moves");
  const appended = await append(request);
  if (moves) reached("after the head moved");
  return appended;
};
const deleteThread = tier.deleteThread.bind(tier);
tier.deleteThread = async (threadId) => {
  reached("in the rollback, before the thread is dropped");
  await deleteThread(threadId);
};

const journal = createJournal(saver);
const graph = booking(saver, journal, told);
await transaction(
  saver,
  thread,
  async (tx) => {
    reached("after the fork");
    await graph.invoke({ item: "hotel" }, tx.config);
    await graph.invoke({ item: "car" }, tx.config);
    reached("in the work");
    if (die.startsWith("in the rollback")) throw new Error("no seat left");
  },
  { journal },
);
