import { uuid6 } from "@langchain/langgraph-checkpoint";
import { MemorySaver, type Tier } from "@stratigraph/core";
import { copyByReading } from "@stratigraph/core/internal";

/** More ancestors than Stratigraph reads at once (1,000), and than a page of 1,024. */
const many = 1030;

/**
 * Makes a thread as LangGraph makes it with a DeltaChannel, without running its steps: a checkpoint with the list as a plain value, then many
 * that lack it, each stored with the write that leads to the next one. Made in memory and copied, which costs few calls.
 * @returns the list at the head
 */
export async function makeLongLine(tier: Tier, threadId: string): Promise<string[]> {
  const saver = new MemorySaver();
  const list = ["plain"];
  let at = { configurable: { thread_id: threadId, checkpoint_ns: "" } };
  for (let n = 0; n <= many; n += 1) {
    const checkpoint = {
      v: 4,
      id: uuid6(n),
      ts: new Date(n).toISOString(),
      channel_values: { turn: 1, ...(n === 0 ? { list } : {}) },
      channel_versions: { list: n + 1, turn: 1 },
      versions_seen: {},
    };
    const metadata = { source: "loop" as const, step: n, parents: {} };
    at = (await saver.put(
      at,
      structuredClone(checkpoint),
      metadata,
      checkpoint.channel_versions,
    )) as typeof at;
    if (n === many) break;
    await saver.putWrites(at, [["list", [`w${n}`]]], `task-${n}`);
    list.push(`w${n}`);
  }
  await copyByReading(saver.tier, threadId, threadId, tier);
  return list;
}
