import { checkOptions, type TierSaver } from "@stratigraph/core";
import type { ThreadTarget } from "../contract/target.ts";
import { tierSource } from "../sources/tierSource.ts";
import { copyNames } from "./importThreads.ts";
import { onlyHead, ownThreads } from "./ownThreads.ts";
import { Tally, type CopyOptions, type CopyReport } from "./report.ts";

/**
 * Takes threads of a storage of ours to another saver, or to a file. The storage isn't changed. A saver that is repeated on gets what
 * it doesn't have yet; a file is written anew.
 * @throws InvalidOptionError; StratigraphError where the storage can't be read; what the target throws
 */
export async function exportThreads(
  saver: TierSaver,
  target: ThreadTarget,
  options: CopyOptions = {},
): Promise<CopyReport> {
  checkOptions("exportThreads", options, copyNames);
  const { verify = true, signal, threadIds, after } = options;
  const source = tierSource(saver);
  const tally = new Tally(await source.plan(), options);
  for (const threadId of await ownThreads(saver.tier, { threadIds, after })) {
    const thread = await source.thread!(threadId);
    if (thread === undefined) {
      const { head } = await saver.tier.peek({ threadId, namespace: "" });
      if (head !== undefined) tally.differs([{ threadId, what: onlyHead }]);
      continue;
    }
    tally.begin(threadId);
    try {
      const written = await target.write(thread, { verify, wrote: () => tally.checkpoint(threadId) });
      tally.differs(written.differences.map((what) => ({ threadId, what })));
      tally.end(threadId, written);
    } finally {
      await thread.close();
    }
    if (signal?.aborted === true) return tally.report(false);
  }
  await target.finish();
  return tally.report(true);
}
