import { edit, fork, merge } from "@stratigraph/branch";
import { advance } from "@stratigraph/branch/internal";
import { MemoryTier, TierSaver } from "@stratigraph/core";
import type { Namespace } from "@stratigraph/core/tier";
import { chat, human, on } from "../../packages/features/branch/test/support/graphs.ts";
import { text } from "./ledger.ts";
import type { Machine } from "./machine.ts";
import { simulate } from "./simulate.ts";
import { warmUp } from "./site.ts";
import type { WireCall } from "./wireCall.ts";
import type { World } from "./world.ts";

beforeAll(warmUp);

/** A thread whose title was "base", "old" and "now", a fork of when it was "base", and another process. */
async function forked(world: World) {
  const [ours, others, server] = [world.machine("ours"), world.machine("others"), world.machine("server")];
  const tier = new MemoryTier();
  const open = (process: Machine): TierSaver => new TierSaver(world.connect(process, server, tier));
  const [saver, other] = [open(ours), open(others)];
  const graph = chat(saver);
  await graph.invoke({ messages: [human("hello")], title: text("base") }, on("t"));
  await fork(saver, "t", { to: "f" });
  for (const title of ["old", "now"]) await graph.updateState(on("t"), { title: text(title) });
  await graph.updateState(on("f"), { title: text("theirs") });
  const titleRead = async (): Promise<unknown> => (await chat(open(others)).getState(on("t"))).values.title;
  return { ours, saver, other, titleRead };
}

const changes: readonly [string, (saver: TierSaver, title: string) => Promise<unknown>][] = [
  ["merge", (saver, title) => merge(chat(saver), "t", "f", { strategy: { title: () => title } })],
  ["edit", (saver, title) => edit(saver, "t", { title })],
];
const takeTheirs = (saver: TierSaver) => merge(chat(saver), "t", "f", { strategy: { title: "theirs" } });

describe.each(changes)("%s", (_name, change) => {
  test("stores a value that another process has pruned since it was remembered", async () => {
    await simulate(async (world) => {
      const { saver, other, titleRead } = await forked(world);
      await other.prune(["t"], { strategy: "keep_latest" });
      await change(saver, text("old"));
      expect(await titleRead()).toBe(text("old"));
    });
  });

  test("writes nothing where the thread is written to between its read and its write", async () => {
    await simulate(async (world) => {
      const { ours, saver, other, titleRead } = await forked(world);
      const held = world.hold("append", { from: ours });
      const changing = change(saver, text("late"));
      await held.reached;
      await chat(other).updateState(on("t"), { title: text("between") });
      await held.release();
      await expect(changing).rejects.toMatchObject({ code: "CHECKPOINT_CONFLICT" });
      expect(await titleRead()).toBe(text("between"));
    });
  });
});

test("a merge that takes a value over which another process prunes meanwhile is refused, and made again", async () => {
  await simulate(async (world) => {
    const { ours, saver, other, titleRead } = await forked(world);
    const held = world.hold("append", { from: ours });
    const back = (): Promise<unknown> =>
      merge(chat(saver), "t", "f", { strategy: { title: ({ base }: { base: unknown }) => base } });
    const merging = back();
    await held.reached;
    await other.prune(["t"], { strategy: "keep_latest" });
    await held.release();
    await expect(merging).rejects.toMatchObject({ code: "STALE_READ" });
    expect(await titleRead()).toBe(text("now"));
    await back();
    expect(await titleRead()).toBe(text("base"));
  });
});

test("a fast-forward writes nothing where the thread is written to between its read and its write", async () => {
  await simulate(async (world) => {
    const { ours, saver, other, titleRead } = await forked(world);
    const { threadId } = await fork(saver, "t");
    await chat(saver).updateState(on(threadId), { title: text("ahead") });
    const held = world.hold("append", { from: ours });
    const advancing = advance(saver, "t", threadId);
    await held.reached;
    await chat(other).updateState(on("t"), { title: text("between") });
    await held.release();
    await expect(advancing).rejects.toMatchObject({ code: "CHECKPOINT_CONFLICT" });
    expect(await titleRead()).toBe(text("between"));
  });
});

test("a merge takes what was written to its target between its reads", async () => {
  await simulate(async (world) => {
    const { ours, saver, other } = await forked(world);
    const ofTarget = ({ args: [at] }: WireCall): boolean =>
      (at as Namespace).threadId === "t" && (at as Namespace).namespace === "";
    const held = world.hold("read", { from: ours, when: ofTarget });
    const merging = takeTheirs(saver);
    await held.reached;
    await world.pass(1);
    await chat(other).updateState(on("t"), { notes: ["between"] });
    await held.release();
    expect((await merging).status).toBe("merged");
    const { values } = await chat(other).getState(on("t"));
    expect(values).toMatchObject({ notes: ["between"], title: text("theirs") });
  });
});

test("a fork into a thread that begins meanwhile is refused, and leaves that as it is", async () => {
  await simulate(async (world) => {
    const { ours, saver, other } = await forked(world);
    const held = world.hold("append", { from: ours });
    const forking = fork(saver, "t", { to: "new" });
    await held.reached;
    await chat(other).updateState(on("new"), { title: "of others" });
    await held.release();
    await expect(forking).rejects.toMatchObject({ code: "THREAD_EXISTS" });
    expect((await chat(other).getState(on("new"))).values.title).toBe("of others");
    expect(await other.conflicts("new")).toEqual([]);
  });
});
