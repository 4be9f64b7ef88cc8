import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { AIMessage } from "@langchain/core/messages";
import { MemoryTier, TierSaver } from "@stratigraph/core";
import { createJournal, replayTrail, type Journal, type Replay } from "@stratigraph/journal";
import { afterAll, describe, expect, it } from "vitest";
import { agentOf, asks, payments, says, type Script } from "./support/effects.ts";

const pays = (amount: number) => ({ name: "pay", args: { amount } });
const config = { configurable: { thread_id: "ada" } };
const input = { messages: [{ role: "user", content: "pay" }] };
const folder = mkdtempSync(join(tmpdir(), "replay-"));
afterAll(() => rmSync(folder, { recursive: true }));

const script: Script = (turn) => [asks(pays(5)), asks(pays(6), pays(6))][turn] ?? says("done");

/** Runs an agent on a journal of its own. */
async function recorded(follows: Script = script, threadId = "ada") {
  const saver = new TierSaver(new MemoryTier());
  const journal = createJournal(saver);
  const { pay, paid } = payments();
  const { graph } = agentOf(journal, journal.tools([pay], { pay: "once" }), follows, saver);
  const configurable = { thread_id: threadId };
  const { messages } = await graph.invoke(input, { configurable });
  return { journal, paid, messages };
}

/** Runs the same agent on a replay. */
async function replayed(replay: Replay, follows: Script = script) {
  const { pay, paid } = payments();
  const saver = new TierSaver(new MemoryTier());
  const { graph } = agentOf(
    replay as unknown as Journal,
    replay.tools([pay], { pay: "once" }),
    follows,
    saver,
  );
  const run = replay.follow(() => graph.invoke(input, config));
  return { run, paid };
}

const contents = (messages: readonly { content: unknown }[]) => messages.map(({ content }) => content);

describe("a replay", () => {
  it("gives what was recorded, from the thread or from an exported trail, and runs nothing", async () => {
    const { journal, messages, paid } = await recorded();
    expect(paid).toEqual([5, 6, 6]);
    const file = join(folder, "ada.jsonl");
    await journal.export("ada", file);
    for (const replay of [await journal.replay("ada"), await replayTrail(file)]) {
      const { run, paid: again } = await replayed(replay);
      expect(contents((await run).messages)).toEqual(contents(messages));
      expect(again).toEqual([]);
      expect(replay.calls.map(({ tool, args, outcome }) => [tool, args, outcome])).toEqual([
        ["pay", { amount: 5 }, "recorded"],
        ["pay", { amount: 6 }, "recorded"],
        ["pay", { amount: 6 }, "recorded"],
      ]);
      expect(replay.unused()).toEqual([]);
    }
  });

  it("doesn't run a call that may have happened, where the recording has no result of it, under `run` either", async () => {
    const saver = new TierSaver(new MemoryTier());
    const journal = createJournal(saver);
    const file = join(folder, "under way.jsonl");
    const { pay } = payments((amount) => (amount === 6 ? journal.export("ada", file) : undefined));
    const one: Script = (turn) => [asks(pays(5)), asks(pays(6)), asks(pays(7))][turn] ?? says("done");
    await agentOf(journal, journal.tools([pay], { pay: "once" }), one, saver).graph.invoke(input, config);
    for (const onMiss of ["throw", "run"] as const) {
      const { run, paid } = await replayed(await replayTrail(file, { onMiss }), one);
      await expect(run).rejects.toMatchObject({
        code: "REPLAY_DIVERGED",
        message: expect.stringMatching(
          /pay\({"amount":6}\), of which the recording has no result \(claimed\)/,
        ),
      });
      expect(paid).toEqual([]);
    }
  });

  it("refuses a trail that isn't whole, or signed by other keys: what is missing would be done again", async () => {
    const sign = (secret: string) => ({ keys: { a: secret }, activeKey: "a" });
    const journal = createJournal(new TierSaver(new MemoryTier()), {
      sign: sign("the right secret of ours"),
    });
    for (const n of [1, 2]) await journal.run(config, { id: `pay ${n}`, tool: "pay", args: { n } }, () => n);
    await journal.erase("ada", { before: new Date(Date.now() + 60_000) });
    const file = join(folder, "whole.jsonl");
    await journal.export("ada", file);
    const whole = readFileSync(file, "utf8");
    const options = { sign: sign("the right secret of ours"), onMiss: "run" } as const;
    await replayTrail([whole], options);
    const broken = { code: "JOURNAL_BROKEN" };
    await expect(
      replayTrail([whole], { ...options, sign: sign("a secret of somebody else") }),
    ).rejects.toMatchObject(broken);
    const lines = whole.split("\n");
    for (const end of [whole.slice(0, -20), `${lines.slice(0, 4).join("\n")}\n`, `${lines[0]}\n`])
      await expect(replayTrail([end], options)).rejects.toMatchObject(broken);
  });

  it("doesn't run what the policy denied, under `run` either", async () => {
    const journal = createJournal(new TierSaver(new MemoryTier()), { policy: () => ({ deny: "no" }) });
    const pay = (on: Journal | Replay, id: string) =>
      on.run(config, { id, tool: "pay", args: { n: 9 } }, () => "paid");
    await expect(pay(journal, "first")).rejects.toMatchObject({ code: "CALL_DENIED" });
    const replay = await journal.replay("ada", { onMiss: "run" });
    await expect(pay(replay, "second")).rejects.toMatchObject({ code: "REPLAY_DIVERGED" });
  });

  it("names the first call that wasn't recorded, and runs neither it nor what follows", async () => {
    const { journal } = await recorded();
    const replay = await journal.replay("ada");
    const changed: Script = (turn, ...more) => (turn === 1 ? asks(pays(7), pays(6)) : script(turn, ...more));
    const { run, paid } = await replayed(replay, changed);
    await expect(run).rejects.toMatchObject({
      code: "REPLAY_DIVERGED",
      data: {
        tool: "pay",
        args: { amount: 7 },
        expected: [
          { tool: "pay", args: { amount: 6 } },
          { tool: "pay", args: { amount: 6 } },
        ],
      },
    });
    expect(paid).toEqual([]);
    expect(replay.unused()).toHaveLength(2);
  });

  it('runs what wasn\'t recorded under onMiss: "run"', async () => {
    const { journal } = await recorded();
    const replay = await journal.replay("ada", { onMiss: "run" });
    const longer: Script = (turn, ...more) => (turn === 2 ? asks(pays(9)) : script(turn, ...more));
    const { run, paid } = await replayed(replay, longer);
    expect(contents((await run).messages).at(-1)).toBe("done");
    expect(paid).toEqual([9]);
    expect(replay.calls.map(({ outcome }) => outcome)).toEqual(["recorded", "recorded", "recorded", "ran"]);
  });

  it("runs no call under `run` that the recording has anywhere: behind a difference it stands at another place", async () => {
    const { journal } = await recorded();
    const replay = await journal.replay("ada", { onMiss: "run" });
    const first: Script = (turn, ...more) => (turn === 0 ? asks(pays(9)) : script(turn - 1, ...more));
    const { run, paid } = await replayed(replay, first);
    await expect(run).rejects.toMatchObject({ code: "REPLAY_DIVERGED", data: { args: { amount: 5 } } });
    expect(paid).toEqual([9]);
  });

  it("throws what a call threw whose outcome nobody knows, as the model went on from that", async () => {
    const saver = new TierSaver(new MemoryTier());
    const journal = createJournal(saver);
    const cut = payments(() => {
      throw new Error("the line was cut");
    });
    const follows: Script = (turn) => (turn === 0 ? asks(pays(5)) : says("sorry"));
    const tools = journal.tools([cut.pay], { pay: "once" });
    const { messages } = await agentOf(journal, tools, follows, saver).graph.invoke(input, config);
    const { run, paid } = await replayed(await journal.replay("ada"), follows);
    expect(contents((await run).messages)).toEqual(contents(messages));
    expect(paid).toEqual([]);
  });

  it("fails where the recorded call failed, with the same words", async () => {
    const saver = new TierSaver(new MemoryTier());
    const journal = createJournal(saver);
    const failing = payments(() => {
      throw Object.assign(new Error("no funds"), { certain: true });
    });
    const follows: Script = (turn) => (turn === 0 ? asks(pays(5)) : says("done"));
    const { graph } = agentOf(journal, journal.tools([failing.pay], { pay: "once" }), follows, saver);
    const { messages } = await graph.invoke(input, config);
    const replay = await journal.replay("ada");
    const { run } = await replayed(replay, follows);
    expect(contents((await run).messages)).toEqual(contents(messages));
    expect(replay.calls.map(({ outcome }) => outcome)).toEqual(["failed"]);
  });

  it("tells which recorded calls another policy would have denied, or asked about", async () => {
    const { journal } = await recorded();
    const replay = await journal.replay("ada");
    const judged = await replay.judge(({ args }) => {
      const { amount } = args as { amount: number };
      return amount > 5 ? { deny: "over 5" } : { ask: "really?" };
    });
    expect(judged.map(({ args, recorded: was, now, reason }) => [args, was, now, reason])).toEqual([
      [{ amount: 5 }, "allowed", "asked", "really?"],
      [{ amount: 6 }, "allowed", "denied", "over 5"],
      [{ amount: 6 }, "allowed", "denied", "over 5"],
    ]);
  });

  it("is compared with another one: calls, arguments, outcomes, time", async () => {
    const other: Script = (turn) => [asks(pays(5)), asks(pays(7)), asks(pays(8))][turn] ?? says("done");
    const [left, right] = await Promise.all([recorded(), recorded(other)]);
    const a = await left.journal.replay("ada");
    const b = await right.journal.replay("ada");
    const { rows, left: mine, right: theirs } = await a.compare(b);
    expect(rows.map(({ kind, left: l, right: r }) => [kind, l?.args, r?.args])).toEqual([
      ["same", { amount: 5 }, { amount: 5 }],
      ["changed", { amount: 6 }, { amount: 7 }],
      ["changed", { amount: 6 }, { amount: 8 }],
    ]);
    expect([mine.calls, theirs.calls]).toEqual([3, 3]);
    expect((await a.compare(a)).rows.every(({ kind }) => kind === "same")).toBe(true);
  });

  it("refuses options that it doesn't know", async () => {
    const { journal } = await recorded();
    await expect(journal.replay("ada", { onMiss: "maybe" as never })).rejects.toMatchObject({
      code: "INVALID_OPTION",
    });
  });
});

it("says what a message without calls is: nothing of the chain", () => {
  const journal = createJournal(new TierSaver(new MemoryTier()));
  expect(journal.next({ messages: [] }, new AIMessage("done"))).toEqual({});
});
