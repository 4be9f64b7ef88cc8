import { join } from "node:path";
import { PostgresSaver } from "@stratigraph/postgres";
import { expect, test } from "vitest";
import { startRacers } from "../../../../test/race/racers.ts";
import { freshDatabase } from "../../../../test/servers/shared.ts";
import { at } from "./support/checkpoints.ts";
import { logOf, threeNodes } from "./support/threeNodes.ts";
import { inRounds } from "../../../../test/rounds.ts";

const rounds = inRounds({ few: 25, all: 80, soak: 200 });
const names = ["A", "B"] as const;

/** Two processes, and a saver that observes them. */
async function racers(durability: "sync" | "async" | "exit") {
  const database = await freshDatabase();
  const saver = PostgresSaver.fromConnString(database.url);
  await saver.setup();
  const script = join(import.meta.dirname, "support/raceChild.ts");
  const { run, end } = await startRacers(
    script,
    names.map((name) => [database.url, name, durability]),
  );
  return {
    saver,
    run,
    end: async () => {
      const exits = await end();
      await saver.end();
      await database.drop();
      return exits;
    },
  };
}

/** The log of the head, and whose turn it ends with. */
async function headOf(saver: PostgresSaver): Promise<{ log: string[]; id: string }> {
  const tuple = (await saver.getTuple(at("race")))!;
  return { log: tuple.checkpoint.channel_values["log"] as string[], id: tuple.checkpoint.id };
}

test(`async: ${rounds} races of two processes: one moves the head, the other's work is kept as a side branch`, async () => {
  const race = await racers("async");
  const won = { A: 0, B: 0 };
  let log: string[] = [];
  const lost = new Map<string, string[]>();
  for (let round = 0; round < rounds; round += 1) {
    const before = log;
    const done = await race.run(round);
    expect(done.map(({ error }) => error)).toEqual([undefined, undefined]);
    const states = names.map((name) => [...before, ...logOf(`${name}${round}`)]);
    // Both runs went on to their end, each on its own line.
    expect(done.map((each) => each.log)).toEqual(states);
    ({ log } = await headOf(race.saver));
    const winner = states.findIndex((state) => state.at(-1) === log.at(-1));
    expect(log).toEqual(states[winner]);
    won[names[winner]!] += 1;

    const conflicts = await race.saver.conflicts("race");
    expect(conflicts).toHaveLength(round + 1);
    const { checkpointId, checkpoints, lostTo } = conflicts.find((each) => !lost.has(each.checkpointId))!;
    lost.set(checkpointId, states[1 - winner]!);
    expect(checkpoints).toBe(5);
    expect(await race.saver.getTuple(at("race", lostTo))).toBeDefined();
  }
  // Each side must win sometimes: otherwise there was no race.
  expect(Math.min(won.A, won.B)).toBeGreaterThan(Math.floor(rounds / 50));
  for (const [checkpointId, state] of lost) {
    const tuple = await race.saver.getTuple(at("race", checkpointId));
    expect(tuple?.checkpoint.channel_values["log"]).toEqual(state);
  }

  // A lost branch can become the head, and the thread goes on from it.
  const [branch, state] = [...lost].at(-1)!;
  await race.saver.promote(at("race", branch));
  expect(await headOf(race.saver)).toEqual({ log: state, id: branch });
  expect(await race.saver.conflicts("race")).toHaveLength(rounds - 1);
  const next = await threeNodes(race.saver).invoke({ last: "C" }, { configurable: { thread_id: "race" } });
  expect(next.log).toEqual([...state, ...logOf("C")]);
  expect((await headOf(race.saver)).log).toEqual(next.log);

  for (const exit of await race.end()) expect(exit).toMatchObject({ code: 0, signal: null, stderr: "" });
}, 240_000);

test.each(inRounds({ few: ["sync"], all: ["sync", "exit"] } as const))(
  "%s: the loser rejects with CheckpointConflictError, and nothing of it is stored",
  async (durability) => {
    const race = await racers(durability);
    let log: string[] = [];
    const ends = new Set<string>();
    for (let round = 0; round < rounds; round += 1) {
      const before = log;
      const done = await race.run(round);
      expect(done.map(({ error }) => error).toSorted()).toEqual(["CHECKPOINT_CONFLICT", undefined]);
      const winner = done.findIndex(({ error }) => error === undefined);
      ({ log } = await headOf(race.saver));
      expect(log).toEqual([...before, ...logOf(`${names[winner]}${round}`)]);
      ends.add(names[winner]!);
    }
    expect([...ends].toSorted()).toEqual(["A", "B"]);
    expect(await race.saver.conflicts("race")).toEqual([]);
    // No checkpoint holds anything of a loser.
    const runs = new Set<string>();
    for await (const { checkpoint } of race.saver.list(at("race"))) {
      const last = checkpoint.channel_values["last"];
      if (typeof last === "string") runs.add(last.split(":")[0]!);
    }
    expect(runs.size).toBe(rounds);
    for (const exit of await race.end()) expect(exit).toMatchObject({ code: 0, signal: null, stderr: "" });
  },
);
