import { createCache, createCheckpointer, createStore, StratigraphError } from "stratigraph";
import { expect, onTestFinished, test, vi } from "vitest";
import { query } from "../../../../test/servers/postgres.ts";
import { freshDatabase } from "../../../../test/servers/shared.ts";

// A DBA made the schema for a role that may only create tables in it. Whatever is opened first sets it up.

vi.setConfig({ testTimeout: 120_000 });

/** A database by a role that may create tables in the schema "stratigraph", or nothing. */
async function forRole(rights: "create tables" | "nothing"): Promise<string> {
  const database = await freshDatabase();
  const role = `app_${new URL(database.url).pathname.slice(1)}`;
  await query(database.url, `create role ${role} login; create schema stratigraph`);
  if (rights === "create tables")
    await query(database.url, `grant usage, create on schema stratigraph to ${role}`);
  onTestFinished(async () => {
    await query(database.url, `drop owned by ${role} cascade; drop role ${role}`);
    await database.drop();
  });
  const url = new URL(database.url);
  url.username = role;
  return url.href;
}

const doors = {
  checkpointer: async (url: string) => {
    const checkpointer = await createCheckpointer(url);
    onTestFinished(() => checkpointer.end());
    await checkpointer.store().put(["a"], "b", { c: 1 });
    await checkpointer.cache().set([{ key: [["n"], "k"], value: 1 }]);
    expect(await checkpointer.listThreads()).toMatchObject({ threads: [] });
  },
  store: async (url: string) => {
    const store = await createStore(url);
    onTestFinished(() => store.stop?.());
    await store.put(["a"], "b", { c: 1 });
  },
  cache: async (url: string) => {
    const cache = await createCache(url);
    onTestFinished(() => cache.end());
    await cache.set([{ key: [["n"], "k"], value: 1 }]);
  },
};

test.each(Object.entries(doors))("by createX: the %s", async (_, open) => {
  await open(await forRole("create tables"));
});

test.each(Object.entries(doors))(
  "the %s names the right that is missing, and its statement",
  async (_, open) => {
    const url = await forRole("nothing");
    const error = await open(url).then(
      () => undefined,
      (reason: unknown) => reason,
    );
    expect(StratigraphError.is(error, "ACCESS_DENIED"), String(error)).toBe(true);
    expect(String(error)).toContain(
      `grant usage, create on schema "stratigraph" to "${new URL(url).username}";`,
    );
  },
);
