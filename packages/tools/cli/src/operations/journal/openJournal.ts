import type { TierSaver } from "@stratigraph/core";
import { reservedNamespaces } from "@stratigraph/core/tier";
import { createJournal, type Journal, type SignOptions } from "@stratigraph/journal";
import { resolveThread } from "../table/address.ts";
import type { Context } from "../table/context.ts";

/** One journal per saver, because it remembers which processes it found dead, and for how long it has seen the claims of others. */
const journals = new WeakMap<
  TierSaver,
  { readonly journal: Journal; readonly sign: SignOptions | undefined }
>();

/** The journal of a storage's threads, for operations. */
export async function openJournal(context: Context): Promise<Journal> {
  const saver = await context.saver();
  const { sign } = context;
  const known = journals.get(saver);
  if (known !== undefined && known.sign === sign) return known.journal;
  const journal = createJournal(saver, sign === undefined ? {} : { sign });
  journals.set(saver, { journal, sign });
  return journal;
}

/**
 * The thread that an input names. A thread with a journal but no checkpoints counts, too. Asks the tier, as the journal would bring a thread
 * that isn't here.
 * @throws NotFoundError
 */
export async function journalThread({ checkpointer }: Journal, thread: string): Promise<string> {
  const at = { threadId: thread, namespace: reservedNamespaces.calls };
  const { head } = await checkpointer.tier.peek(at).catch(() => ({ head: "" }));
  return head === undefined ? await resolveThread(checkpointer, thread) : thread;
}
