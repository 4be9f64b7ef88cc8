import { fork } from "@stratigraph/branch";
import { MemorySaver } from "@stratigraph/core";
import { operations } from "../../src/operations/index.ts";
import { expect, test } from "vitest";
import { chat, human, on } from "../../../../features/branch/test/support/graphs.ts";
import { rendered, run } from "./support/run.ts";
import { testContext } from "./support/testContext.ts";
import { putValues } from "./support/threads.ts";

const isFound = (name: string, output: unknown): boolean | undefined =>
  operations.find((each) => each.name === name)!.found?.(output as Record<string, unknown>);

test("diff: of one step, of two threads, cut, redacted; found where there is one", async () => {
  const saver = new MemorySaver();
  const graph = chat(saver);
  await graph.invoke({ messages: [human("secret", "m1")] }, on("ada"));
  await fork(saver, { threadId: "ada" }, { to: "bob" });
  const context = testContext(saver);
  const same = await run("diff", { from: "ada", to: "bob" }, context);
  expect(isFound("diff", same)).toBe(false);
  expect(rendered("diff", same)).toContain("no difference");
  const step = await run("diff", { from: "ada" }, context);
  expect(step).toMatchObject({
    channels: [{ name: "messages", changes: [{ kind: "added", path: "#re-m1" }] }, { name: "sum" }],
  });
  expect(isFound("diff", step)).toBe(true);
  await graph.invoke({ messages: [human("secret ".repeat(100_000), "m2")], title: "e\u001b[2J" }, on("bob"));
  const long = await run("diff", { from: "ada", to: "bob" }, context);
  expect(JSON.stringify(long).length).toBeLessThan(80_000);
  expect(rendered("diff", long)).toContain("human: secret");
  expect(rendered("diff", long)).not.toContain("\u001b");
  const hidden = await run(
    "diff",
    { from: "ada", to: "bob" },
    testContext(saver, { redact: ["messages.*.content"] }),
  );
  expect(JSON.stringify(hidden) + rendered("diff", hidden)).not.toContain("secret");
  await expect(run("diff", { from: "ada@step:-1" }, context)).rejects.toThrow("is the first one");
});

test("diff lists so many changes of a channel, and counts the others", async () => {
  const saver = new MemorySaver();
  await putValues(saver, "ada", { list: [] });
  await putValues(saver, "ada", { list: Array.from({ length: 500 }, (_, n) => n) });
  const found = await run<{ channels: { changes: unknown[]; omitted: number }[] }>(
    "diff",
    { from: "ada", limit: 10 },
    testContext(saver),
  );
  expect(found.channels[0]!.changes).toHaveLength(10);
  expect(found.channels[0]!.omitted).toBe(490);
  expect(rendered("diff", found)).toContain("490 more changes");
});

test("compare puts threads side by side", async () => {
  const saver = new MemorySaver();
  const graph = chat(saver);
  for (const id of ["ada", "b🙂b"]) await graph.invoke({ messages: [human(`from ${id}`)] }, on(id));
  const compared = await run("compare", { threads: ["ada", "b🙂b"] }, testContext(saver));
  const text = rendered("compare", compared);
  expect(text).toContain("re: from b🙂b");
  expect(
    JSON.stringify(
      await run("compare", { threads: ["ada"] }, testContext(saver, { redact: ["messages.*.content"] })),
    ),
  ).not.toContain("from ada");
});

/** 20 threads, every other one with three side branches. */
async function withConflicts(): Promise<MemorySaver> {
  const saver = new MemorySaver({ conflict: "branch" });
  for (let n = 0; n < 20; n += 1) {
    const first = await putValues(saver, `t${n}`, { n });
    await putValues(saver, `t${n}`, { n: n + 1 });
    if (n % 2 === 1) continue;
    // Writers that begin at the first checkpoint, and know nothing of the second one.
    for (let late = 0; late < 3; late += 1) {
      const other = new MemorySaver({ conflict: "branch" });
      Object.defineProperty(other, "tier", { value: saver.tier });
      await other.put(
        { configurable: { thread_id: `t${n}`, checkpoint_ns: "", checkpoint_id: first } },
        {
          v: 4,
          id: `1f000000-0000-6000-8000-00000000000${late}`,
          ts: "2026-01-01T00:00:00.000Z",
          channel_values: { n: late },
          channel_versions: { n: 9 },
          versions_seen: {},
        },
        { source: "loop", step: 1, parents: {} },
        { n: 9 },
      );
    }
  }
  return saver;
}

test("conflicts of one thread and of all, a page at a time", async () => {
  const saver = await withConflicts();
  const context = testContext(saver);
  const items: { thread: string }[] = [];
  let cursor: string | undefined;
  do {
    const page: { items: { thread: string }[]; cursor?: string } = await run(
      "conflicts",
      { limit: 4, cursor },
      context,
    );
    expect(page.items.length).toBeLessThanOrEqual(4);
    items.push(...page.items);
    ({ cursor } = page);
  } while (cursor !== undefined);
  expect(items).toHaveLength(30);
  expect(new Set(items.map((each) => JSON.stringify(each))).size).toBe(30);
  const one = await run("conflicts", { thread: "t0" }, context);
  expect(isFound("conflicts", one)).toBe(true);
  const none = await run("conflicts", { thread: "t1" }, context);
  expect(isFound("conflicts", none)).toBe(false);
  expect(rendered("conflicts", none)).toBe("No conflicts in 1 thread.");
});

test("conflicts of threads that are written to between two pages aren't missed", async () => {
  const saver = await withConflicts();
  const left = Array.from({ length: 10 }, (_, n) => `t${n * 2}`);
  let cursor: string | undefined;
  do {
    const page: { items: { thread: string }[]; cursor?: string } = await run(
      "conflicts",
      { limit: 4, cursor },
      testContext(saver),
    );
    for (const { thread } of page.items) if (left.includes(thread)) left.splice(left.indexOf(thread), 1);
    ({ cursor } = page);
    // Of the threads that weren't listed yet, the oldest and the newest.
    for (const thread of [left.at(0), left.at(-1)])
      if (thread !== undefined) await putValues(saver, thread, { n: 7 });
  } while (cursor !== undefined);
  expect(left).toEqual([]);
});
