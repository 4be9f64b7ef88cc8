import { messageOf, threadNamedBy } from "@stratigraph/core/internal";
import { z } from "zod";
import { isOutage } from "../change/isOutage.ts";

/** A thread that could not be read. Its id is "" if that isn't known. */
export const failure = z.object({ thread: z.string(), error: z.string() });

/** The threads that a list leaves out because they can't be read. */
export class DamagedThreads {
  readonly failures: z.output<typeof failure>[] = [];

  /** For a list of threads. A later page may tell of the same one again. */
  readonly onDamaged = (error: unknown, thread = threadNamedBy(error) ?? ""): void => {
    const found = { thread, error: messageOf(error) };
    if (!this.failures.some((each) => each.thread === thread && each.error === found.error))
      this.failures.push(found);
  };

  /** Returns what `read` returns, or `otherwise` if the thread can't be read. @throws StratigraphError on outages */
  async unless<T>(thread: string, otherwise: T, read: () => Promise<T>): Promise<T> {
    try {
      return await read();
    } catch (error) {
      if (isOutage(error)) throw error;
      this.onDamaged(error, thread);
      return otherwise;
    }
  }

  /** That threads were left out; undefined if none was. */
  note(): string | undefined {
    const { length } = this.failures;
    return length === 0
      ? undefined
      : `Damaged threads that were left out: ${length}. "stratigraph verify" tells of them.`;
  }
}
