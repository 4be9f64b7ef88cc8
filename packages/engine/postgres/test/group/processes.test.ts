import { join } from "node:path";
import { postgres, type PostgresTier } from "@stratigraph/postgres";
import { expect, test } from "vitest";
import { available } from "../../../../../test/servers/available.ts";
import { runChild } from "../../../../../test/servers/children.ts";
import { query, startPostgres, type PostgresServer } from "../../../../../test/servers/postgres.ts";
import type { GroupMessage } from "./support/groupChild.ts";
import { inRounds } from "../../../../../test/rounds.ts";

const script = join(import.meta.dirname, "support/groupChild.ts");
const threads = 24;
const kills = inRounds({ few: 3, all: 6 });

function startWriter(url: string, name: string, order: "up" | "down", rounds: number, prefix = name) {
  return runChild<GroupMessage>(script, [url, name, order, String(threads), String(rounds), prefix]);
}

/** What was acknowledged to a child, by thread. */
function acknowledged(messages: readonly GroupMessage[]): Map<string, string[]> {
  const acked = new Map<string, string[]>();
  for (const message of messages) {
    if (message.type !== "acked") continue;
    for (const threadId of message.threads) acked.set(threadId, [...(acked.get(threadId) ?? []), message.id]);
  }
  return acked;
}

/** Every acknowledged checkpoint is there, whole. Returns how many there were. */
async function expectAllThere(
  tier: PostgresTier,
  acked: ReadonlyMap<string, readonly string[]>,
): Promise<number> {
  let count = 0;
  for (const [threadId, ids] of acked) {
    const stored = new Set<string>();
    for await (const { record, blobs } of tier.list({ threadId })) {
      expect(Buffer.from(record.body).toString()).toBe(`body of ${record.checkpointId}`);
      expect(Buffer.from(blobs.get(record.blobs[0]!)!.bytes).toString()).toBe(
        `value of ${record.checkpointId}`,
      );
      stored.add(record.checkpointId);
    }
    for (const id of ids) expect(stored).toContain(id);
    count += ids.length;
  }
  return count;
}

describe.skipIf(!available.postgres)("groups of several processes", () => {
  let server: PostgresServer;
  let tier: PostgresTier;
  beforeAll(async () => {
    server = await startPostgres({ fsync: true });
    tier = postgres({ url: server.url, retryFor: "60s" });
    await tier.setup();
  });
  afterAll(async () => {
    await tier.end();
    await server.stop();
  });

  test("two processes write the same threads in opposite orders: no deadlock, and all of both is there", async () => {
    const rounds = inRounds({ few: 40, all: 120 });
    const children = [
      startWriter(server.url, "A", "up", rounds, "both"),
      startWriter(server.url, "B", "down", rounds, "both"),
    ];
    await Promise.all(children.map((child) => child.message(({ type }) => type === "up")));
    for (const child of children) child.send("start");
    await Promise.all(children.map((child) => child.message(({ type }) => type === "end")));
    for (const child of children) {
      expect(await child.exit).toMatchObject({ code: 0, stderr: "" });
      expect(await expectAllThere(tier, acknowledged(child.messages))).toBe(rounds * threads);
    }
    const [row] = await query(
      server.url,
      "select deadlocks from pg_stat_database where datname = current_database()",
    );
    expect(row!["deadlocks"]).toBe("0");
    // The processes did compete: each lost races.
    let lost = 0;
    for await (const _ of tier.list({ lost: true, recordsOnly: true })) lost += 1;
    expect(lost).toBeGreaterThan(threads);
  }, 120_000);

  test("processes killed in the middle of groups: what was acknowledged is there, nothing is half there", async () => {
    let sum = 0;
    for (let n = 0; n < kills; n += 1) {
      const child = startWriter(server.url, `killed ${n}`, "up", 100_000);
      await child.message(({ type }) => type === "up");
      child.send("start");
      // It is anywhere in what follows then.
      let acked = 0;
      await child.message(({ type }) => type === "acked" && ++acked > threads + 10 * n);
      expect(await child.kill()).toMatchObject({ stderr: "" });
      sum += await expectAllThere(tier, acknowledged(child.messages));
    }
    expect(sum).toBeGreaterThan(kills * threads);
    // What wasn't acknowledged may be there or not, but not in part.
    for (const kind of ["checkpoints", "blobs"])
      expect(
        await query(
          server.url,
          `select from stratigraph.${kind} left join stratigraph.threads using (thread) where key is null`,
        ),
      ).toEqual([]);
    const [row] = await query(
      server.url,
      `select count(*)::int as n from stratigraph.checkpoints c
        where not exists (select from stratigraph.blobs b where b.thread = c.thread and b.hash = c.blobs)`,
    );
    expect(row!["n"]).toBe(0);
  }, 120_000);

  test("the server killed in the middle of groups: the writers go on with what they have, nothing is lost", async () => {
    const child = startWriter(server.url, "outage", "up", 60);
    await child.message(({ type }) => type === "up");
    child.send("start");
    for (const after of [3, 12]) {
      const marked = `outage ${String(after).padStart(5, "0")}`;
      await child.message((message) => message.type === "acked" && message.id === marked);
      await server.kill();
      await server.start();
    }
    await child.message(({ type }) => type === "end");
    expect(await child.exit).toMatchObject({ code: 0, stderr: "" });
    expect(await expectAllThere(tier, acknowledged(child.messages))).toBe(60 * threads);
    for (let n = 0; n < threads; n += 1) {
      const { checkpoint } = await tier.read({
        threadId: `outage ${n}`,
        namespace: "",
        checkpointId: "outage 00059",
      });
      expect(checkpoint?.record.parentId).toBe("outage 00058");
    }
  }, 120_000);
});
