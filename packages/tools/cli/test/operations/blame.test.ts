import { MemorySaver, MemoryTier, TierSaver } from "@stratigraph/core";
import { FaultyTier } from "@stratigraph/testing";
import { expect, test } from "vitest";
import { inRounds } from "../../../../../test/rounds.ts";
import { chat, deltaChat, human, on } from "../../../../features/branch/test/support/graphs.ts";
import { rendered, run } from "./support/run.ts";
import { testContext } from "./support/testContext.ts";
import { longThread, putValues } from "./support/threads.ts";

interface Blame {
  readonly id?: string;
  readonly changed: { readonly checkpoint: string; readonly nodes: readonly string[]; readonly step: number };
  readonly before?: { readonly checkpoint: string; readonly value?: { readonly value: unknown } };
  readonly changes?: readonly { readonly kind: string; readonly path: string; readonly after?: unknown }[];
  readonly value: { readonly value: unknown };
  readonly complete: boolean;
  readonly searched: { readonly checkpoints: number; readonly versions: number; readonly read: number };
}

test("the checkpoint, node and run that wrote a message", async () => {
  const saver = new MemorySaver();
  const graph = chat(saver);
  for (let n = 0; n < 20; n += 1)
    await graph.invoke(
      { messages: [human(`${n}`, `m${n}`)] },
      { ...on("ada"), metadata: { run_id: `run-${n}` } },
    );
  const context = testContext(saver);
  const found = await run<Blame>("blame", { at: "ada", path: "messages[7].content" }, context);
  expect(found).toMatchObject({
    id: "re-m3",
    value: { value: "re: 3" },
    changed: { nodes: ["answer"], run: "run-3", source: "loop" },
    complete: true,
  });
  expect(found.before!.value).toBeUndefined();
  const exact = await run<Blame>("blame", { at: "ada", path: "messages[7].content", exact: true }, context);
  expect(exact.changed).toEqual(found.changed);
  expect(exact.searched.read).toBeGreaterThan(found.searched.read * 2);
  // Followed by its id: messages before it are removed, and it isn't said to have changed.
  const { config } = await graph.getState(on("ada"));
  await graph.updateState(config, { messages: [human("rewritten", "m0")] });
  const rewritten = await run<Blame>("blame", { at: "ada", path: "messages[0].content" }, context);
  expect(rewritten).toMatchObject({
    value: { value: "rewritten" },
    before: { value: { value: "0" } },
    changed: { source: "update" },
  });
  await expect(run("blame", { at: "ada", path: "messages[99]" }, context)).rejects.toMatchObject({
    code: "NOT_FOUND",
  });
  await expect(run("blame", { at: "ada", path: "[3]" }, context)).rejects.toMatchObject({
    code: "INVALID_OPTION",
  });
});

const length = inRounds({ few: 5000, all: 20_000 });

test(`among ${length} checkpoints few values are read`, async () => {
  const tier = new FaultyTier(new MemoryTier());
  const saver = new TierSaver(tier);
  const ids = await longThread(saver, "long", length);
  const context = testContext(saver);
  tier.reset();
  const title = await run<Blame>("blame", { at: "long", path: "title" }, context);
  expect(title.changed.checkpoint).toBe(ids[length - 1000]);
  expect(title.before!.checkpoint).toBe(ids[length - 1001]);
  expect(title.searched).toMatchObject({ checkpoints: 1001, versions: 2 });
  const count = await run<Blame>("blame", { at: `long`, path: "count" }, context);
  expect(count.changed.checkpoint).toBe(ids.at(-1));
  await putValues(saver, "long", { fixed: { a: 1 } });
  for (let n = 0; n < 300; n += 1) await putValues(saver, "long", { fixed: { a: 1, n } });
  tier.reset();
  const fixed = await run<Blame>("blame", { at: "long", path: "fixed.a" }, context);
  expect(fixed.before!.value).toBeUndefined();
  expect(fixed.searched.versions).toBe(302);
  expect(tier.count("read")).toBeLessThan(30);
});

test("DeltaChannels, the beginning of a thread, pruned ancestors, redaction", async () => {
  const saver = new MemorySaver();
  const graph = deltaChat(saver, 1000);
  for (let n = 0; n < 5; n += 1) await graph.invoke({ messages: [human(`secret ${n}`, `m${n}`)] }, on("d"));
  const context = testContext(saver, { redact: ["messages.*.content"] });
  const found = await run<Blame>("blame", { at: "d", path: "messages[4].content" }, context);
  expect(found).toMatchObject({ id: "m2", changed: { step: 6 } });
  expect(JSON.stringify(found)).not.toContain("secret");
  const first = await putValues(saver, "p", { same: "x".repeat(100), n: 0 });
  for (let n = 1; n < 6; n += 1) await putValues(saver, "p", { n });
  expect(await run<Blame>("blame", { at: "p", path: "same" }, context)).toMatchObject({
    changed: { checkpoint: first },
    complete: true,
  });
  await saver.prune(["p"], { strategy: "keep_latest", keepLast: 2 });
  const pruned = await run<Blame>("blame", { at: "p", path: "same" }, context);
  expect(pruned).toMatchObject({ complete: false });
  expect(rendered("blame", pruned)).toContain("Older checkpoints were removed");
});

test("differences are shown as by diff: what both sides have in common is left out, however long it is", async () => {
  const saver = new MemorySaver();
  const graph = chat(saver);
  const rules = "Never promise a refund that the fare rules forbid. ".repeat(200);
  await graph.invoke({ messages: [human(rules, "rules")] }, on("ada"));
  for (let n = 0; n < 6; n += 1) await graph.invoke({ messages: [human(`${n}`, `m${n}`)] }, on("ada"));
  const context = testContext(saver);
  const found = await run<Blame>("blame", { at: "ada", path: "messages" }, context);
  expect(found.changes).toEqual([
    { kind: "added", path: "#re-m5", after: expect.objectContaining({ type: "ai" }) as unknown },
  ]);
  expect(rendered("blame", found)).toContain("+ #re-m5  ai: re: 5");
  const { channels } = await run<{ channels: { changes: unknown }[] }>("diff", { from: "ada" }, context);
  expect(channels[0]!.changes).toEqual(found.changes);

  // Texts that begin alike for longer than is shown: what is shown is where they differ.
  await graph.updateState(on("ada"), { messages: [human(`${rules}But be kind.`, "rules")] });
  const kinder = await run<Blame>("blame", { at: "ada", path: "messages[0].content" }, context);
  expect(kinder.changes).toMatchObject([{ kind: "changed", path: "" }]);
  expect(JSON.stringify(kinder.changes)).toContain("But be kind.");

  // No difference shows what is redacted.
  const redacting = testContext(saver, { redact: ["messages.*.content"] });
  const hidden = await run<Blame>("blame", { at: "ada", path: "messages[0]" }, redacting);
  expect(JSON.stringify(hidden)).not.toContain("kind.");
  expect(hidden.changes).toEqual([]);
  expect(rendered("blame", hidden)).toContain("redacted");
});
