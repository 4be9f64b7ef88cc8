import { randomUUID } from "node:crypto";
import type { LogPage } from "@stratigraph/core/tier";
import { Redis } from "ioredis";
import { afterAll, afterEach, beforeEach, expect, test, vi } from "vitest";
import { sharedRedis } from "../../../../test/servers/shared.ts";
import { redis } from "../src/index.ts";
import { Space } from "../src/items/space.ts";

// A log is trimmed while a page of it is read by several calls: who asks for it can tell that entries may be missing.

const { url, prefix } = await sharedRedis();
const client = new Redis(url);
afterAll(() => client.disconnect());
const { workspaces } = redis({ client, prefix });

let name: string;
/** Where the reader begins; and the three messages that it should get. */
let after: number;
let wanted: readonly number[];

async function publish(topic: string, count: number): Promise<readonly number[]> {
  const change = {
    namespace: [topic],
    value: Buffer.from(""),
    note: Buffer.from(""),
    as: "message",
  } as const;
  const changes = Array.from({ length: count }, (_, n) => ({ ...change, key: `${n}` }));
  const [result] = await workspaces.commit(name, [
    { id: randomUUID().replaceAll("-", ""), checks: [], changes },
  ]);
  if (result === undefined || "failed" in result) throw new Error("not made");
  return result.versions;
}

async function trim(version: number): Promise<void> {
  while ((await workspaces.trim(name, version)) > 0);
}

const read = async (from: number, limit: number): Promise<LogPage> =>
  await workspaces.log(name, { prefixes: [["t"]], after: from, limit });

/** Does something once, before a call of a script. */
function before(script: "spacePage" | "entries", work: () => Promise<void>): () => number {
  const { run } = Space.prototype;
  let times = 0;
  vi.spyOn(Space.prototype, "run").mockImplementation(async function (this: Space, ...call) {
    if (call[0] === script && (times += 1) === 1) await work();
    return await run.apply(this, call);
  });
  return () => times;
}

beforeEach(async () => {
  name = randomUUID();
  // More old messages than are sorted at a time, and more of others than are looked at for them.
  after = (await publish("t", 2500)).at(-1)!;
  await publish("noise", 4000);
  wanted = await publish("t", 3);
  await publish("noise", 4000);
});
afterEach(() => vi.restoreAllMocks());

for (const script of ["spacePage", "entries"] as const)
  test(`what is removed before ${script}: the page says up to where the log was trimmed`, async () => {
    const count = before(script, () => trim(wanted[2]!));
    const page = await read(after, 100);
    expect(count()).toBeGreaterThan(0);
    expect(page.entries).toEqual([]);
    expect(page.trimmed).toBe(wanted[2]);
  });

test("a page that lost a part of its entries, or all, says that there may be more", async () => {
  before("entries", () => trim(wanted[0]!));
  const page = await read(after, 2);
  expect(page.entries.map(({ version }) => version)).toEqual([wanted[1]]);
  expect(page).toMatchObject({ more: true, trimmed: wanted[0] });
});

test("where all that was found is gone, what follows is found", async () => {
  const count = before("entries", () => trim(wanted[1]!));
  const page = await read(after, 2);
  expect(count()).toBeGreaterThan(0);
  expect(page.entries.map(({ version }) => version)).toEqual([wanted[2]]);
  expect(page.trimmed).toBe(wanted[1]);
});
