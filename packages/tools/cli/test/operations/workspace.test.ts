// long file: each operation on workspaces in a short story, over the same trip
import { randomBytes } from "node:crypto";
import { Annotation, START, StateGraph } from "@langchain/langgraph";
import { MemorySaver } from "@stratigraph/core";
import { encodeCursor } from "@stratigraph/core/internal";
import type { WorkspaceKeeper } from "@stratigraph/core/tier";
import { createWorkspace, type Workspace } from "@stratigraph/workspace";
import { createPrompts } from "@stratigraph/workspace/prompts";
import { expect, test } from "vitest";
import { hostileId, ran } from "./support/ran.ts";

/** A trip that a planner and a critic work on. It is encrypted: so what is decoded for another workspace isn't shown. */
async function trip(): Promise<{ saver: MemorySaver; versions: number[] }> {
  const encryption = { keys: { one: randomBytes(32) }, activeKey: "one", hashKey: randomBytes(32) };
  const saver = new MemorySaver({ encryption });
  const planner = createWorkspace(saver, "trip", { agent: "planner" });
  const critic = createWorkspace(saver, "trip", { agent: "critic" });
  const versions: number[] = [];
  const put = async (at: Workspace, key: string, value: Record<string, unknown>, reason?: string) => {
    const written = await at.put(["plan"], key, value, { reason });
    versions.push(written.ok ? written.version : 0);
  };
  await put(planner, "days", { cities: ["Bern"], nights: 2 }, "the user asked");
  await put(planner, "budget", { euro: 900 });
  await put(critic, "days", { cities: ["Rome"], nights: 2 }, "Bern was shut");
  versions.push(await critic.topic("news").publish({ text: "days changed" }));
  await planner.put(["files"], "/notes.md", { text: "pack light" });
  return { saver, versions };
}

interface Output {
  readonly items: readonly Readonly<Record<string, unknown>>[];
  readonly cursor?: string;
}

test("list: names with who changed each last; a storage without workspaces says so", async () => {
  const { saver } = await trip();
  await createWorkspace(saver, hostileId).put(["a"], "k", {});
  const { output, text } = await ran<Output>("workspace-list", {}, saver);
  expect(output.items).toMatchObject([
    { workspace: hostileId },
    { workspace: "trip", author: { agent: "planner" }, at: expect.any(String) },
  ]);
  expect(text).toMatch(/^WORKSPACE.*\n.*\\u001b\[31m.*\ntrip +\d+ +\d+ s ago {2}planner$/);
  const first = await ran<Output>("workspace-list", { limit: 1 }, saver);
  const second = await ran<Output>("workspace-list", { limit: 1, cursor: first.output.cursor }, saver);
  expect(second.output.items).toMatchObject([{ workspace: "trip" }]);
  const bare = new MemorySaver();
  Object.defineProperty(bare.tier, "workspaces", { value: undefined });
  await expect(ran("workspace-list", {}, bare)).rejects.toThrow(/keeps no workspaces. Memory, PostgreSQL/);
  await expect(ran("workspace-log", { workspace: "none" }, saver)).rejects.toThrow(
    /no workspace "none".*workspace list/,
  );
});

test("items: of a prefix, by a text, as they were, in pages", async () => {
  const { saver, versions } = await trip();
  const items = async (input: object) => {
    const { output, text } = await ran<Output>("workspace-items", { workspace: "trip", ...input }, saver);
    return { names: output.items.map(({ item }) => item), output, text };
  };
  expect(await items({})).toMatchObject({
    names: ['files["/notes.md"]', "plan.days", "plan.budget"],
    output: {
      items: [{}, { version: versions[2], author: { agent: "critic" }, reason: "Bern was shut" }, {}],
    },
    text: expect.stringMatching(
      /plan\.days +\d+ +\d+ s ago {2}critic {3}Bern was shut {2}\{cities: \["Rome"\]/,
    ),
  });
  expect((await items({ prefix: "plan" })).names).toEqual(["plan.days", "plan.budget"]);
  expect((await items({ search: "rome" })).names).toEqual(["plan.days"]);
  expect((await items({ search: "NOTES" })).names).toEqual(['files["/notes.md"]']);
  expect(await items({ search: "nothing" })).toMatchObject({ names: [], text: "No items." });
  const past = await items({ at: versions[1], search: "bern" });
  expect(past).toMatchObject({ names: ["plan.days"], output: { version: versions[1] } });
  for (const input of [{}, { at: versions[2] }, { search: "a" }]) {
    const names: unknown[] = [];
    for (let cursor: string | undefined, n = 0; n < 9; n += 1) {
      const page = await items({ ...input, limit: 1, cursor });
      names.push(...page.names);
      cursor = page.output.cursor;
      if (cursor === undefined) break;
    }
    expect(names).toEqual((await items(input)).names);
  }
  await expect(items({ at: 999 })).rejects.toThrow("999");
  await expect(items({ at: "yesterday" })).rejects.toThrow("write a version, or a time");
});

test("show: value, author and reason, now and before; a part, cut where it is long", async () => {
  const { saver, versions } = await trip();
  const shows = async (item: string, input: object = {}) =>
    await ran("workspace-show", { workspace: "trip", item, ...input }, saver);
  const now = await shows("plan.days");
  expect(now.output).toMatchObject({ version: versions[2], value: { value: { cities: ["Rome"] } } });
  expect(now.text).toMatch(/^plan\.days {2}version \d+ .*\nby {2}critic\nreason {2}Bern was shut\n/);
  const before = await shows("plan.days", { at: versions[0], path: "cities[0]" });
  expect(before.output).toMatchObject({ author: { agent: "planner" }, value: { value: "Bern" } });
  expect((await shows('files["/notes.md"]')).text).toContain("pack light");
  await createWorkspace(saver, "trip").put([hostileId], hostileId, { text: "x".repeat(50_000) });
  const { output } = await ran<Output>("workspace-items", { workspace: "trip", limit: 1 }, saver);
  const long = await shows(String(output.items[0]!["item"]), { maxBytes: 1000 });
  expect(long.output).toMatchObject({ key: hostileId, value: { bytes: expect.any(Number) } });
  expect(long.text).toMatch(/… \(50 kB in all; --path 'text\[\d+:\]'\)/);
  // What a terminal shows can be typed.
  const [, typed] = /^(.*?) {2}version/.exec(long.text)!;
  expect((await shows(typed!)).output).toMatchObject({ key: hostileId });
  await expect(shows("plan.nothing")).rejects.toThrow(/no item plan\.nothing.*workspace log/);
  await expect(shows("plan")).rejects.toThrow("Name a namespace and a key");
  await expect(shows("plan[0:3]")).rejects.toThrow("Write labels with dots");
  await expect(shows("plan.days", { path: "hotel" })).rejects.toThrow("leads nowhere");
});

test("log: newest first, from a version on, of a prefix, of one item", async () => {
  const { saver, versions } = await trip();
  await createWorkspace(saver, "trip", { agent: "critic" }).delete(["plan"], "budget");
  const logs = async (input: object = {}) =>
    await ran<Output>("workspace-log", { workspace: "trip", ...input }, saver);
  const what = ({ items }: Output) =>
    items.map(({ kind, item, topic }) => `${String(kind)} ${String(item ?? topic)}`);
  const all = await logs();
  expect(what(all.output)).toEqual([
    "delete plan.budget",
    'put files["/notes.md"]',
    "message news",
    "put plan.days",
    "put plan.budget",
    "put plan.days",
  ]);
  expect(all.text).toMatch(/critic +message on news +\{text: "days changed"\}\n/);
  expect(what((await logs({ since: versions[2], prefix: "plan" })).output)).toEqual(["delete plan.budget"]);
  const history = await logs({ item: "plan.days" });
  expect(history.output.items).toMatchObject([
    { author: { agent: "critic" }, reason: "Bern was shut", value: { value: { cities: ["Rome"] } } },
    { author: { agent: "planner" }, reason: "the user asked", value: { value: { cities: ["Bern"] } } },
  ]);
  const first = await logs({ limit: 4 });
  expect(what((await logs({ limit: 4, cursor: first.output.cursor })).output)).toEqual(
    what(all.output).slice(4),
  );
  await createWorkspace(saver, "trip").trim(versions[3]!, { keep: "0ms" });
  await expect(logs({ since: 1 })).rejects.toMatchObject({ code: "VERSION_GONE" });
  expect((await logs()).text).toContain("only what items still are is kept");
});

test("diff: of an item, of two versions, of the last change", async () => {
  const { saver, versions } = await trip();
  const diffs = async (input: object) =>
    await ran<{ changed: { item: string; kind: string; changes: object[] }[] }>(
      "workspace-diff",
      { workspace: "trip", ...input },
      saver,
    );
  const item = await diffs({ item: "plan.days" });
  expect(item).toMatchObject({
    found: true,
    output: { to: expect.any(Number), changed: [{ item: "plan.days", kind: "changed" }] },
  });
  expect(item.output.changed[0]!.changes).toEqual([
    { kind: "changed", path: "/cities/0", before: "Bern", after: "Rome" },
  ]);
  expect(item.text).toMatch(/^trip \d+ → \d+\n.*plan\.days[^]*Bern[^]*Rome/);
  const two = await diffs({ from: versions[0], to: versions[2] });
  expect(two.output.changed.map(({ item: name, kind }) => [name, kind])).toEqual([
    ["plan.days", "changed"],
    ["plan.budget", "added"],
  ]);
  expect((await diffs({})).output.changed).toMatchObject([{ item: 'files["/notes.md"]', kind: "added" }]);
  const none = await diffs({ from: versions[2], to: versions[3] });
  expect(none).toMatchObject({ found: false, text: expect.stringContaining("no difference") });
  expect((await diffs({ from: 0, limit: 1 })).output).toMatchObject({ more: true, changed: [{}] });
});

test("redacted fields stay hidden in values, messages, reasons, differences and searches", async () => {
  const { saver, versions } = await trip();
  await createWorkspace(saver, "trip").send("critic", { text: "Rome it is" }, { reason: "Rome won" });
  const given = {
    redact: [
      "workspaces.trip.plan.days.cities",
      "workspaces.trip.topics.news.text",
      "workspaces.trip.inboxes.critic",
    ],
  };
  for (const [name, input] of [
    ["workspace-items", {}],
    ["workspace-items", { at: versions[0] }],
    ["workspace-show", { item: "plan.days" }],
    ["workspace-show", { item: "plan.days", at: versions[0], path: "cities" }],
    ["workspace-log", {}],
    ["workspace-log", { item: "plan.days" }],
    ["workspace-diff", { from: versions[0] }],
    ["workspace-diff", { from: 0, to: versions[0] }],
    ["workspace-watch", { since: 0 }],
  ] as const) {
    const about = `${name} ${JSON.stringify(input)}`;
    const plain = await ran(name, { workspace: "trip", ...input }, saver);
    expect(`${about} ${JSON.stringify(plain.output)}`).toMatch(/Bern|Rome/);
    const { output, text } = await ran(name, { workspace: "trip", ...input }, saver, given);
    expect(`${about} ${JSON.stringify(output)}${text}`).not.toMatch(/Bern|Rome|days changed/);
    expect(`${about} ${text}`).toContain("(redacted)");
  }
  const part = { workspace: "trip", item: "plan.days", path: "cities[0]" };
  await expect(ran("workspace-show", part, saver, given)).rejects.toThrow("leads nowhere");
  const { output } = await ran<Output>(
    "workspace-items",
    { workspace: "trip", search: "Rome" },
    saver,
    given,
  );
  expect(output.items).toEqual([]);
  const whole = { redact: ["workspaces.*"] };
  for (const name of ["workspace-log", "workspace-items", "workspace-diff"]) {
    const all = await ran(
      name,
      { workspace: "trip", ...(name === "workspace-diff" ? { from: 0 } : {}) },
      saver,
      whole,
    );
    expect(JSON.stringify(all.output)).not.toMatch(/Rome|Bern|light|900/);
  }
});

test("watch: what was missed, then what comes; from where it was interrupted it goes on", async () => {
  const { saver, versions } = await trip();
  const ended = new AbortController();
  const watch = async (input: object) =>
    await ran<Output & { version: number; complete?: boolean }>(
      "workspace-watch",
      { workspace: "trip", ...input },
      saver,
      { signal: ended.signal },
    );
  const missed = await watch({ since: versions[2] });
  expect(missed.output.items).toMatchObject([{ topic: "news" }, { item: 'files["/notes.md"]' }]);
  expect(missed.text).toMatch(/critic {2}message on news/);
  const waiting = watch({ cursor: missed.output.cursor, prefix: "plan" });
  const critic = createWorkspace(saver, "trip", { agent: "critic" });
  await critic.put(["files"], "other", {});
  await critic.put(["plan"], "days", { nights: 3 }, { reason: "longer" });
  const { output, text } = await waiting;
  expect(output.items).toMatchObject([{ item: "plan.days", reason: "longer" }]);
  expect(text).toMatch(/critic {2}put plan\.days {2}\{nights: 3\} {2}longer$/);
  const last = watch({ cursor: output.cursor });
  ended.abort();
  expect(await last).toMatchObject({
    output: { items: [], complete: false },
    text: `The same command goes on with --since ${output.version}`,
  });
  await expect(ran("workspace-watch", { workspace: "trip", since: 999 }, saver)).rejects.toMatchObject({
    code: "VERSION_GONE",
  });
});

test("a workspace that is deleted and begun anew: who reads it by pages or watches it is told", async () => {
  const { saver } = await trip();
  const first = await ran<Output>("workspace-log", { workspace: "trip", since: 0, limit: 2 }, saver);
  const watched = await ran<Output>("workspace-watch", { workspace: "trip", since: 0 }, saver);
  const { workspaces } = saver.tier as unknown as WorkspaceKeeper;
  await workspaces.delete("trip", await createWorkspace(saver, "trip").version());
  for (let n = 0; n < 9; n += 1) await createWorkspace(saver, "trip").put(["plan"], "anew", { n });
  const gone: unknown = expect.objectContaining({
    ...{ code: "VERSION_GONE", message: expect.stringContaining("begun anew") },
  });
  const pages = ran("workspace-log", { workspace: "trip", since: 0, cursor: first.output.cursor }, saver);
  await expect(pages).rejects.toEqual(gone);
  await expect(
    ran("workspace-watch", { workspace: "trip", cursor: watched.output.cursor }, saver),
  ).rejects.toEqual(gone);
  // Another entry has the version now: its time tells it.
  const { entries } = await workspaces.log("trip", { prefixes: [[]], limit: 1 });
  const again = encodeCursor({ version: entries[0]!.version, atMs: entries[0]!.atMs - 1 });
  await expect(ran("workspace-watch", { workspace: "trip", cursor: again }, saver)).rejects.toEqual(gone);
  const looked = await ran<Output>("workspace-log", { workspace: "trip", since: 1 }, saver);
  expect(looked.output.items).toHaveLength(9);
});

test("locks: who holds what", async () => {
  const { saver } = await trip();
  const planner = createWorkspace(saver, "trip", { agent: "planner" });
  await planner.lock(["plan", hostileId], {}, async ({ token }) => {
    const { output, text } = await ran<Output>("workspace-locks", { workspace: "trip" }, saver);
    expect(output.items).toHaveLength(2);
    expect(output.items).toContainEqual(
      expect.objectContaining({ key: hostileId, author: { agent: "planner" } }),
    );
    expect(text).toMatch(new RegExp(`${token} +planner +\\d+ s ago`));
  });
  const none = await ran("workspace-locks", { workspace: "trip" }, saver);
  expect(none.text).toBe("No lock is held.");
});

test("prompts are listed, and the versions of one with what became of their runs", async () => {
  const { saver } = await trip();
  const prompts = createPrompts(createWorkspace(saver, "trip", { agent: "planner" }), {
    checkpointer: saver,
  });
  const none = await ran("workspace-prompts", { workspace: "trip" }, saver);
  expect(none.text).toBe("No prompts.");
  const one = await prompts.add("answer", { template: "Answer {question}." });
  await prompts.add(hostileId, { template: "x" });
  await prompts.add("answer", { template: "Be brief. Answer {question}.", feedback: ["too long"] });
  const graph = new StateGraph(Annotation.Root({ n: Annotation<number> }))
    .addNode("work", () => ({ n: 1 }))
    .addEdge(START, "work")
    .compile({ checkpointer: saver });
  await graph.invoke({ n: 0 }, { configurable: { thread_id: "prompted" }, metadata: one.metadata });
  await prompts.feedback("prompted", { score: 0.5 });
  const all = await ran<Output>("workspace-prompts", { workspace: "trip" }, saver);
  expect(all.output.items).toMatchObject([
    { prompt: hostileId, version: "1" },
    { prompt: "answer", version: "1", author: { agent: "planner" }, variables: ["question"] },
  ]);
  const { output, text } = await ran<Output>(
    "workspace-prompts",
    { workspace: "trip", prompt: "answer" },
    saver,
  );
  expect(output.items).toMatchObject([
    { version: "2", isCurrent: false, parent: "1", feedback: ["too long"], metrics: { runs: 0, ratings: 0 } },
    { version: "1", isCurrent: true, metrics: { runs: 1, success: 1, satisfaction: 0.5 } },
  ]);
  expect(text).toMatch(/1 \* +\d+ s ago +planner +1 +100 % +0 +50 %/);
  const newest = await ran<Output>(
    "workspace-prompts",
    { workspace: "trip", prompt: "answer", limit: 1 },
    saver,
  );
  expect(newest.output.items).toMatchObject([{ version: "2" }]);
  expect(newest.text).toContain("1 of 2. More with --limit");
  const hidden = await ran<Output>("workspace-prompts", { workspace: "trip", prompt: "answer" }, saver, {
    redact: ["workspaces.*"],
  });
  expect(JSON.stringify(hidden)).not.toContain("too long");
});
