import { MemorySaver, MemoryTier, type TierSaver } from "@stratigraph/core";
import { reservedNamespaces } from "@stratigraph/core/tier";
import { TieredSaver } from "@stratigraph/tiered";
import { fork } from "@stratigraph/branch";
import { chat, human, on } from "./support/graphs.ts";

/** A stack with an archive, whose clock is a month ahead, so that everything in it counts as idle. */
function stack(): TieredSaver {
  return new TieredSaver(
    { warm: new MemoryTier(), cold: new MemoryTier(), archiveAfter: "7d", pause: "0ms" },
    () => Date.now() + 30 * 86_400_000,
  );
}

/** Namespaces that the tier itself has of a thread: of its checkpoints, or with a head alone. */
async function stored({ tier }: TierSaver, threadId: string): Promise<Set<string>> {
  const found = new Set<string>();
  for await (const { record } of tier.list({ threadId })) found.add(record.namespace);
  for (const namespace of Object.values(reservedNamespaces))
    if ((await tier.peek({ threadId, namespace })).head !== undefined) found.add(namespace);
  return found;
}

/** Namespaces that a user sees of a thread, by everything that lists. */
async function seen(saver: TierSaver, threadId: string): Promise<Set<string>> {
  const graph = chat(saver);
  const found = new Set<string>();
  const config = { configurable: { thread_id: threadId } };
  for (const listed of [
    saver.list(config),
    saver.list({}),
    saver.list(config, { filter: { source: "fork" } }),
  ])
    for await (const tuple of listed) found.add(String(tuple.config.configurable?.["checkpoint_ns"]));
  for await (const { config: at } of graph.getStateHistory(on(threadId)))
    found.add(String(at.configurable?.["checkpoint_ns"]));
  return found;
}

test.each(["of a fork", "archived"])("users see no reserved namespace: %s", async (what) => {
  const saver: TierSaver = what === "archived" ? stack() : new MemorySaver();
  const graph = chat(saver);
  await graph.invoke({ messages: [human("base")] }, on("a"));
  await fork(saver, { threadId: "a" }, { to: "b" });
  await graph.invoke({ messages: [human("more")] }, on("b"));
  if (what === "archived") await saver.maintain();
  const expected = what === "archived" ? reservedNamespaces.archived : reservedNamespaces.reflog;
  expect(await stored(saver, "b")).toContain(expected);
  expect(await seen(saver, "b")).toEqual(new Set([""]));
  const { threads } = await saver.listThreads();
  expect(threads.map(({ threadId }) => threadId).sort()).toEqual(["a", "b"]);
  const root = await saver.getTuple({ configurable: { thread_id: "b" } });
  expect(threads.find(({ threadId }) => threadId === "b")?.head).toBe(root?.checkpoint.id);
});
