import { afterAll, beforeAll } from "vitest";
import { createJournal, type Journal } from "../../src/index.ts";
import type { Opened } from "./savers.ts";

/** Opens a storage and a journal on it for the tests of a suite, and closes both behind them. */
export function journalOn<O extends Pick<Opened, "saver"> & { close(): Promise<void> }>(
  open: () => Promise<O>,
  given: (opened: O, journal: Journal) => void,
): void {
  let end: (() => Promise<void>) | undefined;
  beforeAll(async () => {
    const opened = await open();
    const journal = createJournal(opened.saver);
    end = async () => {
      await journal.end();
      await opened.close();
    };
    given(opened, journal);
  });
  afterAll(async () => await end?.());
}
