import { InvalidOptionError, type TierSaver } from "@stratigraph/core";
import type { CallRunner } from "./calls/callRunner.ts";
import type { Compensations } from "./calls/compensations.ts";
import type { Session } from "./calls/session.ts";
import type { JournalLog } from "./log/journalLog.ts";
import type { Sealing } from "./log/sealing.ts";
import { shared } from "./shared.ts";

/** The parts of a journal that transactions and batches use, hidden from applications. */
export interface JournalParts {
  readonly checkpointer: TierSaver;
  readonly sealing: Sealing;
  readonly session: Session;
  readonly compensations: Pick<Compensations, "of">;
  authorOf(config: unknown): string | undefined;
  of(threadId: string): { readonly log: JournalLog; readonly runner: CallRunner };
}

const partsOfJournals = shared("parts", () => new WeakMap<object, JournalParts>());

export function setParts(journal: object, parts: JournalParts): void {
  partsOfJournals.set(journal, parts);
}

/** @throws InvalidOptionError if it isn't a journal of this package */
export function partsOf(journal: unknown): JournalParts {
  const parts = partsOfJournals.get(Object(journal) as object);
  if (parts !== undefined) return parts;
  throw new InvalidOptionError("journal", journal, "Pass what createJournal() made.");
}
