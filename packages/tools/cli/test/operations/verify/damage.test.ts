import { TierSaver } from "@stratigraph/core";
import { reservedNamespaces, type Address, type CheckpointRecord } from "@stratigraph/core/tier";
import { agent, brief, line, on, operationNamed, repaired, turns, verified } from "./support.ts";
import { inRounds } from "../../../../../../test/rounds.ts";
import { damageable, type Damager } from "./damagers.ts";

// Each kind of damage in each storage: verify finds it and nothing else; repair mends it, or says why not.

interface Scene {
  readonly damage: Damager;
  readonly threadId: string;
  /** Newest first. */
  readonly records: readonly CheckpointRecord[];
  readonly saver: TierSaver;
}

interface Way {
  readonly name: string;
  damage(scene: Scene): Promise<void>;
  readonly finds: { readonly kind: string; readonly severity: string; readonly part: string };
  readonly outcome: "done" | "impossible";
  /** What is left after mending; only if it isn't nothing. */
  readonly left?: readonly string[];
  /** A thread that no listing shows is found if it is named. */
  readonly named?: boolean;
}

const at = ({ threadId, namespace, checkpointId }: CheckpointRecord): Address => ({
  threadId,
  namespace,
  checkpointId,
});
/** A checkpoint in the middle that has pending writes. */
const middle = ({ records }: Scene): CheckpointRecord => records[5]!;
const spare = "ab".repeat(20);
/** An id from 2024. */
const old = "1eebaf5c-1111-6000-8000-000000000000";

const ways: readonly Way[] = [
  {
    name: "a damaged value of the head",
    damage: ({ damage, threadId, records }) => damage.corruptBlob(threadId, records[0]!.blobs[0]!),
    finds: { kind: "corrupt", severity: "error", part: "blob" },
    outcome: "done",
    left: ["corrupt"],
  },
  {
    name: "a missing value of the head",
    damage: ({ damage, threadId, records }) => damage.dropBlob(threadId, records[0]!.blobs[0]!),
    finds: { kind: "missing-blob", severity: "error", part: "blob" },
    outcome: "done",
    left: ["missing-blob"],
  },
  {
    name: "a damaged value that the rest of the thread is patches on",
    damage: ({ damage, threadId, records }) => damage.corruptBlob(threadId, records.at(-2)!.blobs[0]!),
    finds: { kind: "corrupt", severity: "error", part: "blob" },
    outcome: "done",
    left: ["corrupt"],
  },
  {
    name: "a damaged head",
    damage: ({ damage, records }) => damage.corruptBody(at(records[0]!)),
    finds: { kind: "corrupt", severity: "error", part: "record" },
    outcome: "done",
    left: ["corrupt"],
  },
  {
    name: "a damaged checkpoint in history",
    damage: (scene) => scene.damage.corruptBody(at(middle(scene))),
    finds: { kind: "corrupt", severity: "error", part: "record" },
    outcome: "impossible",
  },
  {
    name: "damaged pending writes in history",
    damage: (scene) => scene.damage.corruptBatch(at(middle(scene))),
    finds: { kind: "corrupt", severity: "error", part: "writes" },
    outcome: "impossible",
  },
  {
    name: "a lost checkpoint in history",
    damage: (scene) => scene.damage.dropRecord(at(middle(scene))),
    finds: { kind: "gap", severity: "error", part: "record" },
    outcome: "impossible",
  },
  {
    name: "a lost checkpoint in history, with its pending writes",
    damage: async (scene) => {
      await scene.damage.dropRecord(at(middle(scene)));
      await scene.damage.dropWrites(at(middle(scene)));
    },
    finds: { kind: "gap", severity: "warning", part: "record" },
    outcome: "impossible",
  },
  {
    name: "a lost head",
    damage: ({ damage, records }) => damage.dropRecord(at(records[0]!)),
    finds: { kind: "wrong-head", severity: "error", part: "head" },
    outcome: "done",
    left: ["orphan"],
  },
  {
    name: "a head that went back",
    damage: ({ damage, threadId, records }) => damage.setHead(threadId, records[3]!.checkpointId),
    finds: { kind: "wrong-head", severity: "warning", part: "head" },
    outcome: "done",
  },
  {
    name: "no head",
    named: true,
    // Another head shows that it is no copy that isn't finished yet.
    async damage({ damage, threadId, saver }) {
      const heads = [{ namespace: reservedNamespaces.life, to: "db/1", expected: "any" }] as const;
      await saver.tier.append({ threadId, records: [], blobs: [], heads, onConflict: "refuse" });
      await damage.setHead(threadId, undefined);
    },
    finds: { kind: "wrong-head", severity: "error", part: "head" },
    outcome: "done",
  },
  {
    name: "pending writes from after the thread's revision",
    damage: (scene) => scene.damage.renumberWrites(at(middle(scene))),
    finds: { kind: "order", severity: "warning", part: "writes" },
    outcome: "impossible",
  },
  {
    name: "a child whose id comes before its parent's",
    damage: async ({ saver, threadId, records }) => {
      const { checkpointId, parentId } = records[0]!;
      const { checkpoint, metadata } = (await saver.getTuple(on(threadId)))!;
      const configurable = { ...on(threadId).configurable, checkpoint_id: checkpointId };
      expect(parentId).toBeDefined();
      const id = old;
      await saver.put({ configurable }, { ...checkpoint, id }, metadata!, checkpoint.channel_versions);
    },
    finds: { kind: "order", severity: "warning", part: "record" },
    outcome: "impossible",
  },
  {
    name: "a blob that nothing names",
    damage: ({ damage, threadId }) => damage.addBlob(threadId, spare),
    finds: { kind: "orphan", severity: "info", part: "blob" },
    outcome: "done",
  },
  {
    name: "pending writes whose checkpoint never came",
    damage: ({ saver, threadId }) =>
      saver.putWrites(
        { configurable: { thread_id: threadId, checkpoint_ns: "", checkpoint_id: old } },
        [["log", line("early")]],
        "task",
      ),
    finds: { kind: "orphan", severity: "info", part: "writes" },
    outcome: "done",
  },
];

/** With few rounds every kind of damage is made in one of the storages. */
function waysIn(tierName: string): Way[] {
  const names = Object.keys(damageable);
  return inRounds({ few: ways.filter((_, turn) => names[turn % names.length] === tierName), all: [...ways] });
}

describe.each(Object.entries(damageable))("in %s", (tierName, openDamageable) => {
  let opened: Awaited<ReturnType<typeof openDamageable>>;
  beforeAll(async () => {
    opened = await openDamageable();
    await turns(new TierSaver(opened.storage.open()), "whole", 2);
  });
  afterAll(async () => {
    await opened.damage.close();
    await opened.storage.close();
  });
  const fresh = () => opened.storage.open();

  async function scene(threadId: string): Promise<Scene> {
    const saver = new TierSaver(fresh());
    await turns(saver, threadId, 2);
    const records: CheckpointRecord[] = [];
    for await (const { record } of fresh().list({ threadId, recordsOnly: true })) records.push(record);
    return { damage: opened.damage, threadId, records, saver };
  }

  async function goesOn(threadId: string): Promise<void> {
    const saver = new TierSaver(fresh());
    const { log } = await agent(saver).invoke({ log: [line("again")], note: "" }, on(threadId));
    expect(log.at(-3)).toMatch(/^again/);
  }

  test.each(waysIn(tierName).map((way) => [way.name, way] as const))("%s", async (_, way) => {
    const threadId = `t ${way.name}`;
    const made = await scene(threadId);
    expect((await verified(fresh())).findings).toEqual([]);
    await way.damage(made);
    const report = await verified(fresh(), way.named === true ? { threads: threadId } : {});
    expect(report.findings.map(brief)).toEqual([
      { ...way.finds, tier: expect.any(String), thread: threadId, goodIn: [] },
    ]);
    expect(report.totals.findings).toEqual({ [way.finds.kind]: 1 });
    const before = await opened.damage.digest();
    const dry = await repaired(fresh(), report, {});
    expect(dry.results.map(({ outcome }) => outcome)).toEqual([
      way.outcome === "done" ? "would" : way.outcome,
    ]);
    expect(await opened.damage.digest()).toBe(before);
    const done = await repaired(fresh(), report);
    expect(done.results).toMatchObject([{ outcome: way.outcome, action: expect.stringMatching(/\.$/) }]);
    if (way.outcome === "done") {
      const { left = [] } = way;
      expect([...new Set(done.left.map(({ kind }) => kind))]).toEqual(left);
      await repaired(fresh(), await verified(fresh()), { apply: true, prune: true });
      expect((await verified(fresh())).findings).toEqual([]);
    }
    await goesOn(threadId);
    const after = await verified(fresh(), { threads: threadId });
    expect(after.findings.map(({ kind }) => kind)).toEqual(way.outcome === "done" ? [] : [way.finds.kind]);
    await new TierSaver(fresh()).deleteThread(threadId);
  });

  test("what is left of a deleted thread", async () => {
    const { saver } = await scene("deleted");
    await saver.deleteThread("deleted");
    expect(
      (await verified(fresh(), { threads: "deleted" }).catch(() => ({ findings: [] }))).findings,
    ).toEqual([]);
    await opened.damage.leak("deleted");
    const report = await verified(fresh(), { threads: "deleted" });
    expect(report.findings.map(brief)).toMatchObject([{ kind: "tombstone-leak", severity: "warning" }]);
    const before = await opened.damage.digest();
    expect((await repaired(fresh(), report, {})).results).toMatchObject([{ outcome: "would" }]);
    expect(await opened.damage.digest()).toBe(before);
    expect(await repaired(fresh(), report)).toMatchObject({ results: [{ outcome: "done" }], left: [] });
    expect((await verified(fresh(), { threads: "deleted" })).findings).toEqual([]);
    await turns(new TierSaver(fresh()), "deleted", 1);
    expect((await verified(fresh())).findings).toEqual([]);
    await saver.deleteThread("deleted");
  });

  test("a report is read at 3 a.m.", async () => {
    const { damage, records, threadId } = await scene("night");
    await damage.corruptBlob(threadId, records[0]!.blobs[0]!);
    await damage.dropRecord(at(records[4]!));
    const report = await verified(fresh());
    const text = [...operationNamed("verify").render(report)].join("\n");
    expect(text).toMatch(/^2 findings: 1 corrupt, 1 gap\.\nVerified 2 threads/);
    if (process.env["SHOW"] !== undefined && tierName === "postgres") {
      console.log(text);
      const outcome = await repaired(fresh(), report, {});
      console.log([...operationNamed("repair").render(outcome)].join("\n"));
    }
    await new TierSaver(fresh()).deleteThread(threadId);
  });
});
