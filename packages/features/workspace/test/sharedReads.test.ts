import { MemoryTier, TierSaver } from "@stratigraph/core";
import type { LogPage, WorkspaceStorage } from "@stratigraph/core/tier";
import { createWorkspace } from "@stratigraph/workspace";
import { expect, test } from "vitest";
import { SharedReads } from "../src/sharedReads.ts";

/** The workspaces of a tier, whose reads of logs are seen by a test. */
function seen(tier: MemoryTier, onRead: (page: LogPage) => Promise<void> | void): WorkspaceStorage {
  return new Proxy(tier.workspaces, {
    get: (target, name) => {
      const member = Reflect.get(target, name, target) as unknown;
      if (typeof member !== "function") return member;
      if (name !== "log") return member.bind(target) as unknown;
      const log: WorkspaceStorage["log"] = async (workspace, query) => {
        const page = await target.log(workspace, query);
        await onRead(page);
        return page;
      };
      return log;
    },
  });
}

test("a hundred who follow a log read it together", async () => {
  const tier = new MemoryTier();
  let reads = 0;
  Object.defineProperty(tier, "workspaces", { value: seen(tier, () => void (reads += 1)) });
  const topic = createWorkspace(new TierSaver(tier), "trip").topic("tasks");
  await topic.publish({ n: 0 });
  let [began, handled] = [0, 0];
  let [allBegan, allHandled] = [(): void => undefined, (): void => undefined];
  const [began100, handled100] = [
    new Promise<void>((resolve) => (allBegan = resolve)),
    new Promise<void>((resolve) => (allHandled = resolve)),
  ];
  const following = Array.from({ length: 100 }, async (_, n) => {
    for await (const { body } of topic.subscribe(`agent ${n}`)) {
      if (body["n"] === 0 && (began += 1) === 100) allBegan();
      if (body["n"] === 3 && (handled += 1) === 100) allHandled();
      if (body["n"] === 3) break;
    }
  });
  await began100;
  reads = 0;
  for (let n = 1; n <= 3; n += 1) await topic.publish({ n });
  await handled100;
  await Promise.all(following);
  expect(reads).toBeLessThan(30);
});

test("nobody gets what was read before it asked", async () => {
  const tier = new MemoryTier();
  let [begun, answer] = [(): void => undefined, (): void => undefined];
  const hasBegun = new Promise<void>((resolve) => (begun = resolve));
  const answered = new Promise<void>((resolve) => (answer = resolve));
  const reads = new SharedReads(
    seen(tier, async () => {
      begun();
      await answered;
    }),
    "trip",
  );
  const workspace = createWorkspace(new TierSaver(tier), "trip");
  await workspace.put(["a"], "k", { n: 1 });
  const query = { prefixes: [[]], after: 0, limit: 9 };
  const first = reads.log(query);
  await hasBegun;
  await workspace.put(["a"], "k", { n: 2 });
  const [second, third] = [reads.log(query), reads.log(query)];
  answer();
  expect((await first).entries).toHaveLength(1);
  expect((await second).entries).toHaveLength(2);
  expect(await third).toBe(await second);
});
