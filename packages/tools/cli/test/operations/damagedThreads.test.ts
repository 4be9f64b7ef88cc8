import { MemoryTier, TierSaver } from "@stratigraph/core";
import { mkdtemp } from "node:fs/promises";
import { join } from "node:path";
import { Annotation, MemorySaver, START, StateGraph } from "@langchain/langgraph";
import { reservedNamespaces } from "@stratigraph/core/tier";
import { createJournal } from "@stratigraph/journal";
import {
  exportThreads,
  importThreads,
  moveThreads,
  openSource,
  openTarget,
  saverTarget,
  type CopyReport,
} from "@stratigraph/migrate";
import { branches, fork } from "@stratigraph/branch";
import { TieredSaver } from "@stratigraph/tiered";
import { tierSource } from "@stratigraph/migrate/internal";
import { configOf, put, text } from "../../../../engine/tiered/test/support.ts";
import { storages } from "../../../../engine/tiered/test/stacks/support/damagedStorages.ts";
import { fastFolder } from "../../../../../test/servers/fastFolder.ts";
import { ran } from "./support/ran.ts";

// One thread whose name is damaged ends no walk over the others.

interface Walked {
  readonly complete: boolean;
  readonly failed: number;
  readonly items: readonly { readonly thread: string }[];
}

const others = ["a", "z"];

/** A graph that pays, and dies before its step ends. */
function paying(saver: TierSaver) {
  const journal = createJournal(saver);
  return new StateGraph(Annotation.Root({ amount: Annotation<number>() }))
    .addNode("pay", async ({ amount }, config) => {
      const call = { id: "rent", args: { amount }, tool: "pay", effects: "once" as const };
      await journal.run(config, call, () => "receipt");
      throw new Error("died");
    })
    .addEdge(START, "pay")
    .compile({ checkpointer: saver });
}

test.each([{ filter: ["source=loop"] }, { status: "idle" }])(
  "a list of threads with %j leaves out one whose newest checkpoint is damaged",
  async (input) => {
    const [, openPostgres] = storages.find(([name]) => name === "PostgreSQL")!;
    const { tier, damageRecords, close } = await openPostgres();
    const saver = new TierSaver(tier);
    try {
      await saver.setup();
      for (const id of ["a", "damaged", "z"]) await put(saver, id, 1, text(id));
      await damageRecords!("damaged");
      const { output, text: shown } = await ran<Walked>("threads", input, saver);
      if ("filter" in input) expect(shown).toContain("Damaged threads that were left out: 1.");
      expect(output.items.map(({ thread }) => thread)).toEqual(expect.arrayContaining(others));
    } finally {
      await saver.end();
      await close();
    }
  },
);

describe.each(storages)("%s", (name, open) => {
  const opened = async () => {
    const { tier, damage, damageHead = damage, close } = await open();
    const saver = new TieredSaver({ warm: tier, cold: new MemoryTier() });
    await saver.setup();
    return { saver, damage, damageHead, close };
  };
  const withDamaged = async () => {
    const { saver, damage, close } = await opened();
    for (const id of ["a", "damaged", "z"])
      for (const step of [1, 2]) await put(saver, id, step, text(`${id} ${step}`));
    await damage("damaged");
    return { saver, close };
  };

  test.each([
    ["prune", { all: true, keepLast: 1 }],
    ["archive", { olderThan: "0s" }],
    ["delete", { olderThan: "0s" }],
  ])("%s works on the others, and tells of it", async (operation, input) => {
    const { saver, close } = await withDamaged();
    try {
      const { output, found } = await ran<Walked>(operation, input, saver);
      expect(output).toMatchObject({ complete: true, failed: 1 });
      expect(output.items).toHaveLength(3);
      expect(output.items.map(({ thread }) => thread)).toEqual(expect.arrayContaining(others));
      expect(found).toBe(true);
      const held = async (id: string): Promise<number> => {
        let checkpoints = 0;
        for await (const _ of saver.tier.list({ threadId: id, recordsOnly: true })) checkpoints += 1;
        return checkpoints;
      };
      expect(await Promise.all(others.map(held))).toEqual(
        Array(2).fill({ prune: 1, archive: 2, delete: 0 }[operation]),
      );
    } finally {
      await close();
    }
  });

  test.each([
    ["threads", {}],
    ["threads", { search: "a" }],
    ["threads", { status: "idle" }],
    ["threads", { filter: ["source=loop"] }],
    ["inbox", {}],
    ["conflicts", {}],
    ["questions", {}],
    ["stats", {}],
    ["history", { thread: "z" }],
  ])("%s %j shows the others, and says that one is left out", async (operation, input) => {
    const { saver, close } = await withDamaged();
    try {
      const { text: shown } = await ran(operation, input, saver);
      // PostgreSQL finds what waits, and forks, by an index that no other thread is in.
      const isTold = name !== "PostgreSQL" || !["inbox", "history"].includes(operation);
      const note = /Damaged threads|NOT READ|couldn't be read|Not all forks/;
      if (isTold) expect(shown).toMatch(note);
      else expect(shown).not.toMatch(note);
    } finally {
      await close();
    }
  });

  test("a list of threads has the others, and so have their branches", async () => {
    const { saver, close } = await withDamaged();
    try {
      await fork(saver, { threadId: "a" }, { to: "fork" });
      const told: Error[] = [];
      const { threads } = await saver.listThreads({ onDamaged: (error) => told.push(error) });
      expect(threads.map(({ threadId }) => threadId).sort()).toEqual(["a", "fork", "z"]);
      expect(told).toHaveLength(1);
      await expect(saver.listThreads()).rejects.toMatchObject({ code: "CORRUPT" });
      expect((await branches(saver, "a")).map(({ threadId }) => threadId)).toEqual(["a", "fork"]);
    } finally {
      await close();
    }
  });

  test.each(["import", "official", "move"])(
    "a shared journal is damaged: %s tells it for the threads that may use it, and takes none away",
    async (way) => {
      const { saver, damage, close } = await opened();
      try {
        const on = { configurable: { thread_id: "z", journal: "shared" } };
        await expect(paying(saver).invoke({ amount: 1 }, on)).rejects.toThrow("died");
        await damage("shared");
        const into = new TierSaver(new MemoryTier());
        const official = new MemorySaver();
        const report = await {
          import: () => importThreads(tierSource(saver), into),
          official: () => exportThreads(saver, saverTarget(official)),
          move: () => moveThreads(saver, into, { source: "delete" }),
        }[way]!();
        const told = { threadId: "z", what: expect.stringMatching(/journal|call/) };
        expect(report.differences).toContainEqual(expect.objectContaining(told));
        expect(await official.getTuple(configOf("z"))).toBeUndefined();
        expect(await saver.getTuple(configOf("z"))).toBeDefined();
      } finally {
        await close();
      }
    },
  );

  test.each(["damage", "damageHead"] as const)(
    "a thread with calls in a shared journal is damaged: a move of all keeps both, and ends (%s)",
    async (how) => {
      const { saver, close, ...damages } = await opened();
      try {
        const on = { configurable: { thread_id: "damaged", journal: "shared" } };
        await expect(paying(saver).invoke({ amount: 1 }, on)).rejects.toThrow("died");
        await put(saver, "a", 1, text("a"));
        await damages[how]("damaged");
        const report = await moveThreads(saver, new TierSaver(new MemoryTier()), { source: "delete" });
        expect(report.differences.map(({ threadId }) => threadId)).toContain("shared");
        const { head } = await saver.tier.peek({ threadId: "shared", namespace: reservedNamespaces.calls });
        expect(head).toBeDefined();
      } finally {
        await close();
      }
    },
  );

  test("an import that is stopped goes on where it was", async () => {
    const { saver, close } = await withDamaged();
    try {
      const [source, into] = [tierSource(saver), new TierSaver(new MemoryTier())];
      let after: string | undefined;
      const calls: (string | undefined)[] = [];
      do {
        ({ cursor: after } = await importThreads(source, into, { after, signal: AbortSignal.abort() }));
        calls.push(after);
      } while (after !== undefined && calls.length < 9);
      expect(calls.at(-1)).toBeUndefined();
      for (const id of others) expect(await into.getTuple(configOf(id))).toBeDefined();
    } finally {
      await close();
    }
  });

  test.each(["import", "file", "move"])("%s brings the others, and tells of it", async (way) => {
    const { saver, close } = await withDamaged();
    try {
      const into = new TierSaver(new MemoryTier());
      const byFile = async (): Promise<CopyReport> => {
        const path = join(await mkdtemp(join(fastFolder(), "stratigraph-damaged-")), "threads.jsonl");
        const target = await openTarget(path);
        const report = await exportThreads(saver, target);
        await target.close();
        const source = await openSource(path);
        await importThreads(source, into);
        await source.close();
        return report;
      };
      const report = await {
        import: () => importThreads(tierSource(saver), into),
        file: byFile,
        move: () => moveThreads(saver, into),
      }[way]!();
      expect(report.complete).toBe(true);
      expect(report.differences).toContainEqual(
        expect.objectContaining({ what: expect.stringContaining("wasn't copied") }),
      );
      for (const id of others) {
        const { checkpoint } = (await into.getTuple(configOf(id)))!;
        expect(checkpoint.channel_values).toEqual({ value: text(`${id} 2`) });
      }
    } finally {
      await close();
    }
  });
});
