import { postgres, type PostgresTier } from "@stratigraph/postgres";
import { expect, test } from "vitest";
import { query } from "../../../../test/servers/postgres.ts";
import { freshDatabase } from "../../../../test/servers/shared.ts";
import { appendOf, blobOf } from "../group/support/requests.ts";

// What processes of older versions send, which may run beside this one during a deployment. They stay as they were sent.

let database: Awaited<ReturnType<typeof freshDatabase>>;
let tier: PostgresTier;

beforeAll(async () => {
  database = await freshDatabase();
  tier = postgres({ url: database.url });
  await tier.setup();
});
afterAll(async () => {
  await tier.end();
  await database.drop();
});

const text = (id: string): Buffer => Buffer.from(`\u0002${id}`);

/** The arguments from p_records on: one checkpoint with one blob, and a head that moves to it from `parentId`. */
function packed(threadId: string, checkpointId: string, parentId: string): unknown[] {
  const blob = blobOf(`value of ${checkpointId}`);
  const hash = Buffer.from(blob.hash, "hex");
  const [none, root] = [undefined, Buffer.alloc(0)];
  const record = [
    text(checkpointId),
    root,
    text(parentId),
    none,
    none,
    hash,
    Buffer.from(`body of ${checkpointId}`),
  ];
  const pieces = [
    text(threadId),
    none,
    ...record,
    hash,
    none,
    Buffer.from(blob.bytes),
    root,
    text(checkpointId),
    text(parentId),
  ];
  let next = 1;
  const starts = pieces.map((piece) => (next += piece?.length ?? 0) - (piece?.length ?? 0));
  const lengths = pieces.map((piece) => piece?.length ?? -1);
  const data = Buffer.concat(pieces.map((piece) => piece ?? root));
  return [[1], ["{1,-2}"], [1], [1], [], [], [1], [12], [1], starts, lengths, data];
}

test.each(["append_1", "append_2"])(
  "%s goes on with a thread of this version, and this version after it",
  async (name) => {
    await tier.append(appendOf(name, "1"));
    const parameters = Array.from({ length: 15 }, (_, i) => `$${i + 1}`).join();
    const sent = `select status, revision::text, head, moved from stratigraph.${name}(${parameters})`;
    const values = [[1], [1], [2], ...packed(name, "2", "1")];
    expect(await query(database.url, sent, values)).toEqual([
      { status: "ok", revision: "2", head: null, moved: true },
    ]);
    // The same again changes nothing.
    expect(await query(database.url, sent, values)).toMatchObject([{ status: "ok", moved: true }]);
    await tier.append(appendOf(name, "3", "2"));
    const { head, checkpoint } = await tier.read({ threadId: name, namespace: "" });
    expect([head, checkpoint?.record.parentId]).toEqual(["3", "2"]);
    const before = await tier.read({ threadId: name, namespace: "", checkpointId: "2" });
    expect(before.checkpoint?.record).toMatchObject({
      parentId: "1",
      tags: [1, -2],
      blobs: [blobOf("value of 2").hash],
    });
    expect(Buffer.from(before.checkpoint!.record.body).toString()).toBe("body of 2");
    expect([...before.checkpoint!.blobs.keys()]).toEqual([blobOf("value of 2").hash]);
  },
);

test("fork_2 makes a thread that this version goes on with", async () => {
  await tier.append(appendOf("source", "1"));
  await tier.append(appendOf("source", "2", "1"));
  const tip = [Buffer.alloc(0), text("2")];
  const parameters = Array.from({ length: 21 }, (_, i) => `$${i + 1}`).join();
  const values = [
    text("source"),
    2,
    text("fork"),
    null,
    tip.map(({ length }) => length),
    Buffer.concat(tip),
    [0],
    [null],
    ["{}"],
    ...packed("fork", "3", "2"),
  ];
  const sent = `select status, head, checkpoints::text from stratigraph.fork_2(${parameters})`;
  expect(await query(database.url, sent, values)).toEqual([{ status: "ok", head: null, checkpoints: "1" }]);
  await tier.append(appendOf("fork", "4", "3"));
  const ids: string[] = [];
  for await (const { record } of tier.list({ threadId: "fork" })) ids.push(record.checkpointId);
  expect(ids).toEqual(["4", "3", "2"]);
});

test("remove_1 takes away what this version stored", async () => {
  await tier.append(appendOf("pruned", "1"));
  await tier.append(appendOf("pruned", "2", "1"));
  const { hash } = blobOf("value of 1");
  const pieces = [text("1"), Buffer.alloc(0), Buffer.from(hash, "hex")];
  const values = [text("pruned"), 2, [1, 1, 0, 0], pieces.map(({ length }) => length), Buffer.concat(pieces)];
  expect(
    await query(database.url, "select stratigraph.remove_1($1, $2, $3, $4, $5) as done", values),
  ).toEqual([{ done: true }]);
  expect(await tier.blobs("pruned")).toMatchObject([{ hash: blobOf("value of 2").hash }]);
  expect((await tier.read({ threadId: "pruned", namespace: "" })).head).toBe("2");
});
