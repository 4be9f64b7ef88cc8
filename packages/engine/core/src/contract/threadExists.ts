import { StratigraphError } from "./errors.ts";

/** The error of a copy or a fork to a thread that has checkpoints. `head`: one of them. */
export function threadExists(threadId: string, head: string): StratigraphError {
  return new StratigraphError(
    "THREAD_EXISTS",
    `Thread ${JSON.stringify(threadId)} has checkpoints already (${head}). Use a new thread id, or delete it first.`,
    { threadId },
  );
}
