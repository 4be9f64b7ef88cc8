import { MemoryTier, TierSaver } from "@stratigraph/core";
import { reservedNamespaces, type Blob, type RemoveRequest } from "@stratigraph/core/tier";
import { operations, runOperation, type RepairOutcome, type Report } from "@stratigraph/cli/operations";
import { testContext } from "../../packages/tools/cli/test/operations/support/testContext.ts";
import { idOf, Ledger } from "./ledger.ts";
import { simulate } from "./simulate.ts";
import { warmUp } from "./site.ts";

beforeAll(warmUp);

const turns = 3;

/** Does one operation on a storage. */
async function run(name: string, saver: TierSaver, input: object): Promise<unknown> {
  const operation = operations.find((each) => each.name === name)!;
  return await runOperation(operation, input, testContext(saver));
}

/** A thread of some turns, in a storage of its own. */
async function threadOf(count: number, ledger = new Ledger("t")): Promise<MemoryTier> {
  const tier = new MemoryTier();
  for (let n = 0; n < count; n += 1) await ledger.turn(new TierSaver(tier));
  return tier;
}

/** A blob that a turn brings. */
async function blobOf(turn: number): Promise<Blob> {
  const before = new Set((await (await threadOf(turn - 1)).blobs("t")).map(({ hash }) => hash));
  const { checkpoint } = await (await threadOf(turn)).read({ threadId: "t", namespace: "" });
  return [...checkpoint!.blobs.values()].find(({ hash }) => !before.has(hash))!;
}

function flipped(blob: Blob): Blob {
  const bytes = Buffer.from(blob.bytes);
  bytes[bytes.length - 6]! ^= 0xff;
  return { ...blob, bytes };
}

/** What somebody does to a thread. */
const deeds = {
  "goes on": async (saver: TierSaver, ledger: Ledger) => void (await ledger.turn(saver)),
  "prunes it": async (saver: TierSaver) => void (await saver.prune(["t"], { strategy: "keep_latest" })),
  "deletes it": async (saver: TierSaver) => await saver.deleteThread("t"),
};
type Deed = keyof typeof deeds;

/** What a test sees of one play. */
interface Play {
  readonly tier: MemoryTier;
  readonly ledger: Ledger;
  /** What somebody did meanwhile. */
  readonly did: Deed | undefined;
}

/** Plays `work` for every call that it makes to a storage: each time somebody does something to thread "t" right before that call. */
async function besides(
  all: readonly Deed[],
  prepare: (tier: MemoryTier) => Promise<void>,
  work: (saver: TierSaver, play: () => Play) => Promise<void>,
): Promise<void> {
  let points = 0;
  for (const deed of all)
    for (const method of ["peek", "list", "blobs", "inspect", "append", "remove"])
      for (let n = 0, did: Deed | undefined = deed; did !== undefined; n += 1) {
        did = undefined;
        await simulate(async (world) => {
          const [worker, server] = [world.machine("worker"), world.machine("server")];
          const ledger = new Ledger("t");
          const tier = await threadOf(turns, ledger);
          await prepare(tier);
          let left = n;
          const held = world.hold(method, { from: worker, when: () => left-- === 0 });
          const meanwhile = async (): Promise<void> => {
            await held.reached;
            did = deed;
            points += 1;
            await deeds[deed](new TierSaver(tier), ledger);
            await held.release();
          };
          meanwhile().catch((error: unknown) => held.fail(error));
          await work(new TierSaver(world.connect(worker, server, tier)), () => ({ tier, ledger, did }));
        });
      }
  expect(points).toBeGreaterThan(5 * all.length);
}

test("verify finds nothing wrong with a healthy thread, whatever somebody does to it meanwhile", async () => {
  await besides(
    ["goes on", "prunes it", "deletes it"],
    async () => undefined,
    async (saver) => {
      expect(((await run("verify", saver, { threads: "t" })) as Report).findings).toEqual([]);
    },
  );
});

/** What is wrong with a thread, what verify calls that, how it came to be, and what somebody does meanwhile. */
const ways: readonly [string, string, () => Promise<Partial<RemoveRequest>>, ...Deed[]][] = [
  [
    "a blob that nothing names yet",
    "orphan",
    async () => ({ replaceBlobs: [await blobOf(turns + 1)] }),
    "goes on",
    "deletes it",
  ],
  [
    // Another head shows that it is no copy that isn't finished yet. Nobody can go on from it.
    "no head",
    "wrong-head",
    async () => ({ heads: [{ namespace: "" }, { namespace: reservedNamespaces.life, to: "db/1" }] }),
    "deletes it",
  ],
  [
    "a head that went back",
    "wrong-head",
    async () => ({ heads: [{ namespace: "", to: idOf(turns - 1) }] }),
    "goes on",
    "deletes it",
  ],
  [
    "a lost head",
    "wrong-head",
    async () => ({ checkpoints: [{ threadId: "t", namespace: "", checkpointId: idOf(turns) }] }),
    "deletes it",
  ],
  [
    "a damaged value of the head",
    "corrupt",
    async () => ({ replaceBlobs: [flipped(await blobOf(turns))] }),
    "deletes it",
  ],
];

test.each(ways)(
  "%s is repaired, and what somebody does to the thread meanwhile holds",
  async (_name, kind, damage, ...meanwhile) => {
    const nothing = { threadId: "t", checkpoints: [], dropBlobs: [], replaceBlobs: [], heads: [] };
    const request = { ...nothing, ...(await damage()) };
    let report: Report | undefined;
    await besides(
      meanwhile,
      async (tier) => {
        const { revision } = await tier.peek({ threadId: "t", namespace: "" });
        expect(await tier.remove({ ...request, revision })).toBe(true);
        report = (await run("verify", new TierSaver(tier), { threads: "t" })) as Report;
        expect(report.findings.map((finding) => finding.kind)).toEqual([kind]);
      },
      async (saver, play) => {
        const { results } = (await run("repair", saver, { report, apply: true })) as RepairOutcome;
        const { tier, ledger, did } = play();
        const reader = new TierSaver(tier);
        if (did === undefined) expect(results).toMatchObject([{ outcome: "done" }]);
        if (did === "goes on") await ledger.checkAll(reader);
        if (did === "deletes it") {
          await ledger.checkGone(reader);
          expect((await tier.peek({ threadId: "t", namespace: "" })).head).toBeUndefined();
        }
      },
    );
  },
);
