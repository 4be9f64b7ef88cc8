import * as langchain from "@langchain/core/messages";
import * as langgraph from "@langchain/langgraph";
import type { BaseCheckpointSaver } from "@langchain/langgraph-checkpoint";
import { exportThreads, importThreads, openSource, openTarget } from "@stratigraph/migrate";
import { PostgresSaver } from "@stratigraph/postgres";
import { PostgresSaver as OfficialSaver } from "@langchain/langgraph-checkpoint-postgres";
import { afterAll, beforeAll, expect, test } from "vitest";
import { findConversations } from "../../../../test/bench/conversations.ts";
import { conversations } from "../../../../test/bench/recording.ts";
import { player } from "../../../../test/bench/replay.ts";
import { inRounds } from "../../../../test/rounds.ts";
import { freshDatabase, type FreshDatabase } from "../../../../test/servers/shared.ts";
import { history } from "./support/conversation.ts";

// Recorded conversations of agents with tools: the official saver and ours go on with the same threads.

const count = inRounds({ few: 6, all: 20, soak: 60 });
const { file } = findConversations();
const recorded = conversations(file, langchain);
const ids = Array.from({ length: count }, (_, n) => `conversation ${n}`);

let databases: FreshDatabase[];
let official: OfficialSaver;
let ours: PostgresSaver;

beforeAll(async () => {
  databases = [await freshDatabase(), await freshDatabase()];
  official = OfficialSaver.fromConnString(databases[0]!.url);
  await official.setup();
  ours = PostgresSaver.fromConnString(databases[0]!.url);
  await ours.setup();
});

afterAll(async () => {
  await ours?.end();
  await official?.end();
  for (const { drop } of databases ?? []) await drop();
});

/** How much of each conversation was played. */
const played = new Map<string, number>();

/** Plays the next part of every conversation on each of the savers, `share` of its messages in all. */
async function play(savers: readonly BaseCheckpointSaver[], share: number): Promise<void> {
  const players = savers.map((saver) => player(saver, langgraph));
  for (const [n, threadId] of ids.entries()) {
    const from = played.get(threadId) ?? 0;
    const total = recorded(n).length;
    for (const [place, each] of players.entries()) {
      const replay = each.begin(recorded(n).slice(from), threadId);
      while (from + replay.played() < total * share && (await replay.turn()));
      if (place === players.length - 1) played.set(threadId, from + replay.played());
    }
  }
}

/** What the user of a thread sees. */
async function messagesOf(saver: BaseCheckpointSaver, threadId: string) {
  const tuple = await saver.getTuple({ configurable: { thread_id: threadId } });
  return tuple?.checkpoint.channel_values["messages"];
}

test(`both go on with ${count} recorded threads, there and back`, { timeout: 1_200_000 }, async () => {
  await play([official], 0.4);
  const source = await openSource(`official+${databases[0]!.url}`);
  const report = await importThreads(source, ours);
  await source.close();
  expect(report).toMatchObject({ complete: true, threads: count, verified: true });
  expect(report).toMatchObject({ differences: [], mixedUp: [], diverged: [] });
  for (const id of ids) expect(await history(ours, id)).toEqual(await history(official, id));

  await play([official, ours], 0.7);
  for (const id of ids) expect(await messagesOf(ours, id)).toEqual(await messagesOf(official, id));

  const target = await openTarget(`official+${databases[1]!.url}`);
  const back = await exportThreads(ours, target);
  await target.close();
  expect(back).toMatchObject({ complete: true, threads: count, leftOut: 0, differences: [], verified: true });
  const there = OfficialSaver.fromConnString(databases[1]!.url);
  try {
    for (const id of ids) expect((await history(there, id)).length).toBe((await history(ours, id)).length);
    await play([ours, there], 1);
    for (const id of ids) {
      expect(await messagesOf(there, id)).toEqual(await messagesOf(ours, id));
      expect((await messagesOf(ours, id)) as unknown[]).toHaveLength(played.get(id)!);
    }
  } finally {
    await there.end();
  }
});
