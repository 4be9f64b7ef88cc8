import { uuid6, type Checkpoint, type CheckpointMetadata } from "@langchain/langgraph-checkpoint";
import type { TierSaver } from "@stratigraph/core";
import { configOf } from "@stratigraph/core/internal";

/** Writes a thread of many small checkpoints as fast as a tier takes them, past the saver's put: one append for each hundred. */
export async function longThread(saver: TierSaver, threadId: string, length: number): Promise<string[]> {
  const ids: string[] = [];
  const base = Date.parse("2026-03-01T00:00:00Z");
  let parentId: string | undefined;
  let parent: Parameters<TierSaver["coder"]["encode"]>[1]["parent"];
  for (let done = 0; done < length;) {
    const records = [];
    const blobs = [];
    for (; done < length && records.length < 100; done += 1) {
      const id = `${String(done).padStart(8, "0")}-long`;
      const checkpoint: Checkpoint = {
        v: 4,
        id,
        ts: new Date(base + done * 60_000).toISOString(),
        channel_values: {
          count: done,
          // Changes with every thousandth checkpoint.
          title: `title ${Math.floor(done / 1000)} ${"x".repeat(100)}`,
        },
        channel_versions: { count: done + 1, title: Math.floor(done / 1000) + 1 },
        versions_seen: { worker: { count: done } },
      };
      const newVersions = done % 1000 === 0 ? checkpoint.channel_versions : { count: done + 1 };
      const metadata = { source: "loop", step: done - 1, parents: {} } as CheckpointMetadata;
      const at = { threadId, namespace: "", checkpointId: id };
      const encoded = await saver.coder.encode(
        at,
        { parentId, parent, again: undefined },
        {
          checkpoint,
          metadata,
          newVersions,
          runId: `run-${Math.floor(done / 10)}`,
        },
      );
      records.push(encoded.record);
      blobs.push(...encoded.blobs);
      [parentId, parent] = [id, encoded.manifest];
      ids.push(id);
    }
    const heads = [{ namespace: "", to: ids.at(-1)!, expected: "any" as const }];
    await saver.tier.append({ threadId, records, blobs, heads, onConflict: "refuse" });
  }
  return ids;
}

/** Puts a checkpoint with these values on the head, or on `parent`. */
export async function putValues(
  saver: TierSaver,
  threadId: string,
  values: Record<string, unknown>,
  parent?: string,
): Promise<string> {
  const on =
    parent === undefined ? await saver.getTuple({ configurable: { thread_id: threadId } }) : undefined;
  const before = parent ?? on?.checkpoint.id;
  const step = (on?.metadata?.step ?? -2) + 1;
  const id = uuid6(step);
  const versions = { ...on?.checkpoint.channel_versions };
  const newVersions: Record<string, number> = {};
  for (const name of Object.keys(values)) newVersions[name] = Number(versions[name] ?? 0) + 1;
  const checkpoint: Checkpoint = {
    v: 4,
    id,
    ts: new Date().toISOString(),
    channel_values: { ...on?.checkpoint.channel_values, ...values },
    channel_versions: { ...versions, ...newVersions },
    versions_seen: {},
  };
  const metadata = { source: "loop", step, parents: {} } as CheckpointMetadata;
  const config =
    before === undefined
      ? { configurable: { thread_id: threadId, checkpoint_ns: "" } }
      : configOf({ threadId, namespace: "", checkpointId: before });
  await saver.put(config, checkpoint, metadata, newVersions);
  return id;
}
