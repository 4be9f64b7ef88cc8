import { waitUntil } from "../../../../../test/servers/process.ts";

/** Resolves when what happens next has another time, in milliseconds, than what happened before. */
export async function anotherTime(): Promise<void> {
  const before = Date.now();
  await waitUntil("another time", () => Date.now() > before + 1, { everyMs: 1 });
}
