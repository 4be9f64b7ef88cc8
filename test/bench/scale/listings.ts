import type { PostgresSaver } from "@stratigraph/postgres";

/** One page of a listing, as an application or a command asks for it. */
export interface Listing {
  name: string;
  page: () => Promise<unknown>;
}

const PAGE = 100;

/**
 * Every kind of listing, a page of each.
 * @param threadId a thread that is there
 */
export async function listings(saver: PostgresSaver, threadId: string): Promise<Listing[]> {
  const inThread = { configurable: { thread_id: threadId, checkpoint_ns: "" } };
  const everywhere = { configurable: {} };
  const middle = await saver.listThreads({ limit: 2 * PAGE });
  const runId = await runOf(saver, threadId);
  await saver.tagThread(threadId, { user_id: "anna" });
  const take = async (
    config: typeof inThread | typeof everywhere,
    options: Parameters<PostgresSaver["list"]>[1],
  ): Promise<void> => {
    for await (const _ of saver.list(config, options)) continue;
  };
  return [
    { name: "listThreads, newest 100", page: () => saver.listThreads({ limit: PAGE }) },
    { name: "listThreads, oldest 100", page: () => saver.listThreads({ limit: PAGE, order: "oldest" }) },
    {
      name: "listThreads, 100 from a cursor",
      page: () => saver.listThreads({ limit: PAGE, cursor: middle.cursor }),
    },
    {
      name: "listThreads by metadata that most have, 100",
      page: () => saver.listThreads({ limit: PAGE, filter: { source: "loop" } }),
    },
    {
      name: "listThreads by metadata that none has",
      page: () => saver.listThreads({ limit: PAGE, filter: { user: "nobody" } }),
    },
    {
      name: "listThreads by a tag",
      page: () => saver.listThreads({ limit: PAGE, tag: { user_id: "anna" } }),
    },
    { name: "listThreads that wait", page: () => saver.listThreads({ limit: PAGE, status: "waiting" }) },
    {
      name: "listThreads that are idle, 100",
      page: () => saver.listThreads({ limit: PAGE, status: "idle" }),
    },
    { name: "list of a thread, newest 20", page: () => take(inThread, { limit: 20 }) },
    {
      name: "list of a thread by metadata, 10",
      page: () => take(inThread, { limit: 10, filter: { source: "input" } }),
    },
    { name: "list of all threads, 20", page: () => take(everywhere, { limit: 20 }) },
    {
      name: "list of all threads by metadata that many have, 20",
      page: () => take(everywhere, { limit: 20, filter: { source: "input" } }),
    },
    {
      name: "list of all threads by metadata that none has",
      page: () => take(everywhere, { limit: 20, filter: { user: "nobody" } }),
    },
    {
      name: "checkpoints of a run",
      page: async () => {
        for await (const _ of saver.tier.list({ runIds: [runId], recordsOnly: true })) continue;
      },
    },
    {
      name: "side branches, 20",
      page: async () => {
        for await (const _ of saver.tier.list({ lost: true, recordsOnly: true, limit: 20 })) continue;
      },
    },
  ];
}

/** The run that wrote the oldest checkpoint of a thread. */
async function runOf(saver: PostgresSaver, threadId: string): Promise<string> {
  let runId: string | undefined;
  for await (const { record } of saver.tier.list({ threadId, recordsOnly: true }))
    runId = record.runId ?? runId;
  if (runId === undefined) throw new Error(`thread ${threadId} has no run`);
  return runId;
}
