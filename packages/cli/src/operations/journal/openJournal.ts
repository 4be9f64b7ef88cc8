import type { TierSaver } from "@stratigraph/core";
import { createJournal, type Journal, type SignOptions } from "@stratigraph/journal";
import { resolveThread } from "../table/address.ts";
import type { Context } from "../table/context.ts";

/** A journal per saver: it remembers which processes it found dead, and for how long it has seen the claims of others. */
const journals = new WeakMap<
  TierSaver,
  { readonly journal: Journal; readonly sign: SignOptions | undefined }
>();

/** The journals of the threads of a storage, for those who look at them. */
export async function openJournal(context: Context): Promise<Journal> {
  const saver = await context.saver();
  const { sign } = context;
  const known = journals.get(saver);
  if (known !== undefined && known.sign === sign) return known.journal;
  const journal = createJournal(saver, sign === undefined ? {} : { sign });
  journals.set(saver, { journal, sign });
  return journal;
}

/** The thread of an input. One that has a journal and no checkpoints counts, too. @throws NotFoundError */
export async function journalThread(journal: Journal, thread: string): Promise<string> {
  const { seq } = await journal.head(thread).catch(() => ({ seq: 1 }));
  return seq > 0 ? thread : await resolveThread(journal.checkpointer, thread);
}
