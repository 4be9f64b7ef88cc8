import { MemorySaver } from "@stratigraph/core";
import { PostgresSaver } from "@stratigraph/postgres";
import { createWorkspace } from "@stratigraph/workspace";
import { afterAll, expect, test } from "vitest";
import { freshDatabase } from "../../../../../test/servers/shared.ts";
import { hostileId } from "../operations/support/ran.ts";
import { memoryClient, type Answer } from "./support/memoryClient.ts";

const facts = ["shared", "facts"];
const closing: (() => unknown)[] = [];
afterAll(async () => {
  for (const close of closing) await close();
});
const ada = createWorkspace(new MemorySaver(), "team");

test("the tools say what they do, in one order; without leave to write, only those that read", async () => {
  const { client } = await memoryClient(ada, "ada");
  const { tools } = await client.listTools();
  expect(tools.map(({ name, annotations }) => [name, annotations])).toMatchObject([
    ["memory_get", { readOnlyHint: true, openWorldHint: false }],
    ["memory_search", { readOnlyHint: true }],
    ["memory_since", { readOnlyHint: true }],
    ["memory_put", { readOnlyHint: false, destructiveHint: false, idempotentHint: true }],
    ["memory_delete", { readOnlyHint: false, destructiveHint: true, idempotentHint: true }],
  ]);
  for (const { inputSchema, outputSchema } of tools) {
    for (const field of Object.values(inputSchema.properties!))
      expect(field).toMatchObject({ description: expect.any(String) });
    expect(outputSchema).toMatchObject({ type: "object" });
  }
  const reader = await memoryClient(ada, "bob", ["read"]);
  expect((await reader.client.listTools()).tools.map(({ name }) => name)).toEqual([
    "memory_get",
    "memory_search",
    "memory_since",
  ]);
});

test.each([
  ["memory", async () => new MemorySaver()],
  [
    "PostgreSQL",
    async () => {
      const { url, drop } = await freshDatabase();
      closing.push(drop);
      const saver = PostgresSaver.fromConnString(url);
      await saver.setup();
      return saver;
    },
  ],
])("two agents share a memory on %s: authors, versions, conflicts, changes", async (_, open) => {
  await using saver = await open();
  const workspace = createWorkspace(saver, "team");
  const [one, two] = [await memoryClient(workspace, "ada"), await memoryClient(workspace, "bob")];
  const item = { namespace: facts, key: hostileId };
  const put = await one.call("put", { ...item, value: { "🐢": "'; --" }, ifVersion: 0, reason: "seen" });
  expect(put).toMatchObject({ ok: true, version: expect.any(Number) });
  const got = await two.call("get", item);
  expect(got).toMatchObject({
    item: {
      ...item,
      value: { "🐢": "'; --" },
      version: put["version"],
      author: { agent: "ada" },
      reason: "seen",
    },
  });
  // Of two who write on the same version, one is told what the other wrote.
  const both = await Promise.all(
    [one, two].map(({ call }, n) => call("put", { ...item, value: { n }, ifVersion: put["version"] })),
  );
  const won = both.find(({ ok }) => ok === true);
  const lost = both.find(({ ok }) => ok !== true);
  expect(lost).toMatchObject({
    ok: false,
    current: { version: won!["version"], value: { n: both.indexOf(won!) } },
  });
  expect(await two.call("delete", { ...item, ifVersion: put["version"] })).toMatchObject({ ok: false });
  expect(await two.call("delete", { ...item, ifVersion: won!["version"], reason: "old" })).toMatchObject({
    ok: true,
  });
  expect(await one.call("put", { ...item, value: {}, ifVersion: 5 })).toEqual({ ok: false, current: null });
  // An agent's own namespace is read by all and written by itself.
  const own = { namespace: ["agents", "ada", "notes"], key: "k" };
  expect(await one.call("put", { ...own, value: { a: 1 } })).toMatchObject({ ok: true });
  expect(await two.call("get", own)).toMatchObject({ item: { value: { a: 1 } } });
  for (const [name, at] of [
    ["put", own],
    ["delete", own],
    ["put", { ...own, namespace: ["agents"] }],
    ["put", { ...own, namespace: ["plan"] }],
  ] as const)
    expect(await two.call(name, { ...at, ...(name === "put" && { value: {} }) })).toMatchObject({
      error: {
        code: "ACCESS_DENIED",
        message: expect.stringContaining('writes in ["agents"'),
        data: { role: "bob" },
      },
    });
  // What happened, in pages.
  const seen: unknown[] = [];
  let cursor: unknown;
  for (let more = true; more;) {
    const page = await two.call("since", { limit: 2, cursor });
    for (const { kind, author, reason } of page["changes"] as Answer[])
      seen.push([kind, (author as Answer)["agent"], reason]);
    [cursor, more] = [page["cursor"], page["more"] === true];
  }
  expect(seen).toMatchObject([
    ["put", "ada", "seen"],
    ["put", expect.any(String), undefined],
    ["delete", "bob", "old"],
    ["put", "ada", undefined],
  ]);
  await workspace.send("bob", { no: "item" });
  expect(await two.call("since", { cursor })).toMatchObject({ changes: [], more: false });
  // A reader that is ahead is told that the storage was set back.
  expect(await two.call("since", { version: 999_999 })).toMatchObject({
    error: {
      code: "VERSION_GONE",
      message: expect.stringContaining("Call memory_since without"),
      data: { restored: true },
    },
  });
});

test("pages end early for long values, and what is too long is told", async () => {
  const workspace = createWorkspace(new MemorySaver(), "long");
  const { call } = await memoryClient(workspace, "ada");
  for (const key of ["a", "b", "c"])
    await call("put", { namespace: facts, key, value: { text: `${key.repeat(4)} ${"x".repeat(1500)}` } });
  const names = async (name: string, key: "items" | "changes", input: object = {}) => {
    const pages: string[] = [];
    let cursor: unknown;
    do {
      const page = await call(name, { ...input, maxBytes: 4000, cursor });
      pages.push((page[key] as Answer[]).map((each) => each["key"]).join(""));
      cursor = page["more"] === false ? undefined : page["cursor"];
    } while (cursor !== undefined);
    return pages;
  };
  expect(await names("search", "items")).toEqual(["cb", "a"]);
  expect(await names("search", "items", { limit: 1 })).toEqual(["c", "b", "a"]);
  expect(await names("since", "changes")).toEqual(["ab", "c"]);
  expect(await names("search", "items", { query: "bbbb" })).toEqual(["b"]);
  // What is deleted between two pages hides nothing.
  const first = await call("search", { limit: 1 });
  await call("delete", { namespace: facts, key: "c" });
  expect(await call("search", { limit: 5, cursor: first["cursor"] })).toMatchObject({
    items: [{ key: "b" }, { key: "a" }],
  });
  // 5 MB are refused here, and left out where others put them.
  const value = { text: "x".repeat(5_000_000) };
  expect(await call("put", { namespace: facts, key: "d", value })).toMatchObject({
    error: { code: "INVALID_OPTION", field: "value", message: expect.stringContaining("at most 1000000") },
  });
  await workspace.put(facts, "d", value);
  const told = { key: "d", bytes: 5_000_011 };
  expect(await call("get", { namespace: facts, key: "d" })).toMatchObject({ item: told });
  expect(await call("search", { limit: 1 })).toMatchObject({ items: [told] });
  expect(await call("since", { version: (await workspace.version()) - 1 })).toMatchObject({
    changes: [told],
    more: false,
  });
  expect(await call("put", { namespace: facts, key: "d", value: {}, ifVersion: 0 })).toMatchObject({
    current: told,
  });
});

test("wrong calls get errors that name the field, and change nothing", async () => {
  const workspace = createWorkspace(new MemorySaver(), "wrong");
  const { call } = await memoryClient(workspace, "ada");
  for (const [name, input, told] of [
    ["get", { namespace: [], key: "k" }, "namespace"],
    ["get", { namespace: [""], key: "k" }, "namespace"],
    ["put", { namespace: ["", "topics", "x"], key: "k", value: {} }, "namespace"],
    ["put", { namespace: facts, key: "", value: {} }, "key"],
    ["put", { namespace: facts, key: "k", value: [] }, "value"],
    ["put", { namespace: facts, key: "k", value: {}, ifVersion: -1 }, "ifVersion"],
    ["search", { limit: 1e9 }, "limit"],
    ["search", { cursor: "x" }, "cursor"],
    ["search", { filter: { a: { $where: "1" } } }, "\\$where"],
    ["since", { cursor: "x" }, "cursor"],
    ["since", { cursor: "e30", version: 1 }, "since"],
  ] as const)
    expect(await call(name, input)).toMatchObject({ error: { message: expect.stringMatching(told) } });
  expect(await workspace.version()).toBe(0);
});
