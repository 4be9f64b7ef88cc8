import {
  emptyCheckpoint,
  MemorySaver as OfficialMemory,
  uuid6,
  type CheckpointTuple,
} from "@langchain/langgraph-checkpoint";
import { MemorySaver, MemoryTier, TierSaver, type Tier } from "@stratigraph/core";
import {
  exportThreads,
  importThreads,
  saverSource,
  saverTarget,
  type ThreadSource,
} from "@stratigraph/migrate";
import { tierSource } from "@stratigraph/migrate/internal";
import { expect, test } from "vitest";
import { counting, history, say } from "./support/conversation.ts";
import { tierWith } from "./support/tierWith.ts";

test("any saver, by its public methods, both ways", async () => {
  const official = new OfficialMemory();
  for (const id of ["ada", "__proto", "a:b"]) {
    await say(official, id, "One");
    await say(official, id, "Two");
  }
  const saver = new MemorySaver();
  const report = await importThreads(saverSource(official), saver);
  expect(report).toMatchObject({ threads: 3, checkpoints: 18, differences: [], verified: true });
  expect(await history(saver, "ada")).toEqual(await history(official, "ada"));
  const back = new OfficialMemory();
  const exported = await exportThreads(saver, saverTarget(back, { branches: true }));
  expect(exported).toMatchObject({ threads: 3, checkpoints: 18, differences: [], leftOut: 0 });
  expect((await say(back, "ada", "on")).length).toBe(6);
  // The target went on: nothing is written over it.
  await say(saver, "ada", "elsewhere");
  const again = await exportThreads(saver, saverTarget(back, { branches: true }));
  expect(again.differences).toEqual([
    { threadId: "ada", what: "it went on in the target; nothing of it was written" },
  ]);
});

test("a thread that was deleted here is brought anew when it is asked for", async () => {
  const official = new OfficialMemory();
  await say(official, "ada", "One");
  const saver = new MemorySaver();
  for (let life = 0; life < 2; life += 1) {
    const report = await importThreads(saverSource(official), saver);
    expect(report).toMatchObject({ threads: 1, differences: [], verified: true });
    expect(await history(saver, "ada")).toEqual(await history(official, "ada"));
    await saver.deleteThread("ada");
  }
});

/** A saver whose list names no more than ten, as RedisSaver's does where nobody names a limit. */
class Forgetful extends OfficialMemory {
  readonly #limit: number;
  #calls = 0;

  constructor(limit: number) {
    super();
    this.#limit = limit;
  }

  override async *list(...args: Parameters<OfficialMemory["list"]>): AsyncGenerator<CheckpointTuple> {
    this.#calls += 1;
    let left = this.#calls > 1 ? this.#limit : Infinity;
    for await (const tuple of super.list(...args)) if (left-- > 0) yield tuple;
  }
}

test("a list that leaves things out is refused before anything of the thread is written", async () => {
  const official = new Forgetful(4);
  await say(official, "ada", "One");
  await say(official, "ada", "Two");
  const saver = new MemorySaver();
  await expect(importThreads(saverSource(official), saver)).rejects.toMatchObject({ code: "MISCONFIGURED" });
  expect((await saver.listThreads()).threads).toEqual([]);
});

test("side branches, and what lies after the head, are left out of savers that would mix them up", async () => {
  const saver = new MemorySaver();
  const config = { configurable: { thread_id: "forked" } };
  await say(saver, "forked", "One");
  await say(saver, "forked", "Two");
  const states = [];
  for await (const state of counting(saver).getStateHistory(config)) states.push(state);
  await counting(saver).invoke(
    { messages: ["Other"] },
    states.find((each) => each.values.messages?.length === 2)!.config,
  );
  const plain = new OfficialMemory();
  const report = await exportThreads(saver, saverTarget(plain));
  expect(report.leftOut).toBe(2);
  expect(report.differences).toEqual([]);
  expect((await say(plain, "forked", "on")).at(-1)?.content).toBe(
    (await say(saver, "forked", "on")).at(-1)?.content,
  );
  await saver.promote(states[0]!.config);
  const head = states[0]!.config.configurable!["checkpoint_id"];
  const promoted = new OfficialMemory();
  await exportThreads(saver, saverTarget(promoted, { branches: true }));
  expect((await promoted.getTuple(config))!.checkpoint.id).toBe(head);
});

test("nobody sees half a thread, and an import goes on in the middle of one", async () => {
  const long = new MemorySaver();
  const at = { configurable: { thread_id: "long", checkpoint_ns: "" } };
  let config: Awaited<ReturnType<MemorySaver["put"]>> = at;
  for (let n = 1; n <= 700; n += 1) {
    const log = Array.from({ length: 5 }, (_, k) => `line ${n}.${k}`);
    const checkpoint = {
      ...emptyCheckpoint(),
      id: uuid6(n),
      channel_values: { log },
      channel_versions: { log: n },
    };
    config = await long.put(config, checkpoint, { source: "loop", step: n, parents: {} }, { log: n });
    if (n % 100 === 0) await long.putWrites(config, [["log", `written ${n}`]], `task ${n}`);
  }
  const saver = new MemorySaver();
  await expect(importThreads(failingAfter(tierSource(long), 600), saver)).rejects.toThrow("the source died");
  expect(await saver.getTuple(at)).toBeUndefined();
  const report = await importThreads(tierSource(long), saver);
  expect(report.checkpoints).toBeLessThan(700);
  expect(report).toMatchObject({ threads: 1, differences: [] });
  expect(await history(saver, "long")).toEqual(await history(long, "long"));
  // What was stored before and after shares its values: it isn't stored twice.
  const size = async (of: MemorySaver) =>
    (await of.tier.blobs("long")).reduce((sum, blob) => sum + blob.size, 0);
  expect(await size(saver)).toBeLessThan((await size(long)) * 1.3);
});

/** A source that dies after some checkpoints. */
function failingAfter(source: ThreadSource, checkpoints: number): ThreadSource {
  return {
    ...source,
    threads: async function* (selection) {
      for await (const thread of source.threads(selection))
        yield {
          ...thread,
          checkpoints: async function* () {
            let left = checkpoints;
            for await (const each of thread.checkpoints()) {
              if (left-- === 0) throw new Error("the source died");
              yield each;
            }
          },
        };
    },
  };
}

test("an export of a thread whose parents are listed in a circle ends", async () => {
  const tier = new MemoryTier();
  await say(new TierSaver(tier), "ada", "One");
  const { head } = await tier.peek({ threadId: "ada", namespace: "" });
  const damaged = tierWith(tier, {
    list: async function* (query: Parameters<Tier["list"]>[0]) {
      for await (const listed of tier.list(query))
        yield { ...listed, record: { ...listed.record, parentId: listed.record.parentId ?? head } };
    },
  });
  const target = saverTarget(new OfficialMemory(), { branches: true });
  expect(await exportThreads(new TierSaver(damaged), target)).toMatchObject({ threads: 1, checkpoints: 3 });
});
