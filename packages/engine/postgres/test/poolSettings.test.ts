import { PostgresSaver } from "@stratigraph/postgres";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { query } from "../../../../test/servers/postgres.ts";
import { freshDatabase } from "../../../../test/servers/shared.ts";
import { poolSettingsOf } from "../src/connection/poolSettings.ts";
import { at } from "./support/checkpoints.ts";

// node-postgres ignores settings of its pool in a connection string. Here they are heeded, and what nobody heeds is refused.

async function opened(parameters: Record<string, string>) {
  const database = await freshDatabase();
  const name = `settings_${new URL(database.url).pathname.slice(1)}`;
  const url = new URL(database.url);
  for (const [key, value] of Object.entries({ ...parameters, application_name: name }))
    url.searchParams.set(key, value);
  const saver = PostgresSaver.fromConnString(url.href);
  onTestFinished(async () => {
    await saver.end();
    await database.drop();
  });
  await saver.setup();
  const pids = async () =>
    (await query(database.url, `select pid from pg_stat_activity where application_name = '${name}'`)).map(
      ({ pid }) => Number(pid),
    );
  return { saver, pids };
}

const many = (saver: PostgresSaver) =>
  Promise.all(Array.from({ length: 40 }, (_, n) => saver.getTuple(at(`t${n}`))));

test("max: no more connections than that", async () => {
  const { saver, pids } = await opened({ max: "2" });
  await many(saver);
  expect(await pids()).toHaveLength(2);
  const found = await saver.tier.diagnose({ role: "warm", timeoutMs: 30_000, write: false });
  expect(found.find(({ check }) => check === "connections")!.found).toContain("The pool has 2 connections");
});

test("idleTimeoutMillis: idle connections are closed", async () => {
  const { saver, pids } = await opened({ idleTimeoutMillis: "20" });
  await many(saver);
  await vi.waitFor(async () => expect(await pids()).toEqual([]), { timeout: 30_000 });
});

describe("a connection string", () => {
  test.each([
    ["max=2&min=1&sslmode=require", { max: 2, min: 1 }, "?sslmode=require"],
    ["connectionTimeoutMillis=5&keepAlive=false", { connectionTimeoutMillis: 5, keepAlive: false }, ""],
    ["connect_timeout=3", { connectionTimeoutMillis: 3000 }, ""],
    ["connect_timeout=0", {}, ""],
    ["connect_timeout=3&connectionTimeoutMillis=5", { connectionTimeoutMillis: 5 }, ""],
    ["application_name=a&options=-c%20x%3D1", {}, "?application_name=a&options=-c+x%3D1"],
    [
      "target_session_attrs=read-write&channel_binding=require",
      {},
      "?target_session_attrs=read-write&channel_binding=require",
    ],
  ])("?%s", (text, settings, rest) => {
    const url = "postgresql://u:p@a:1,b:2/db";
    expect(poolSettingsOf("url", `${url}?${text}`)).toEqual({ server: `${url}${rest}`, settings });
  });

  test.each([
    ["pool_size=2", "pool_size"],
    ["schema=agents", "schema"],
    ["maxx=2", "Did you mean max?"],
    ["max=many", "Write a whole number."],
    ["max=0", "one connection or more"],
    ["allowExitOnIdle=yes", "Write true or false."],
    ["max=1&max=2", "Write it once."],
  ])("?%s is refused by name, without the login", (text, named) => {
    const open = () => PostgresSaver.fromConnString(`postgresql://u:secret@h/db?${text}`);
    expect(open).toThrow(named);
    expect(open).not.toThrow("secret");
  });
});
