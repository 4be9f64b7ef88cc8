import { ERROR, INTERRUPT, RESUME } from "@langchain/langgraph-checkpoint";

/**
 * What stopped a task of the next step, by the channels of what the tasks of that step wrote so far. A task that failed, ran again and
 * asked something then waits for the answer: its error is past. One that was answered and failed then has both, and the answer too.
 */
export function waitsIn(channels: ReadonlySet<string>): { waits?: "interrupt" | "error" } {
  if (channels.has(INTERRUPT) && !(channels.has(ERROR) && channels.has(RESUME)))
    return { waits: "interrupt" };
  return channels.has(ERROR) ? { waits: "error" } : {};
}
