import { isDeepStrictEqual } from "node:util";
import { Annotation, DeltaChannel, START, StateGraph, interrupt } from "@langchain/langgraph";
import type { TierSaver } from "@stratigraph/core";
import { isStacked } from "@stratigraph/core/internal";
import type { Address } from "@stratigraph/core/tier";
import { promote } from "@stratigraph/branch";
import { runOperation } from "../../../src/operations/index.ts";
import { randomNumbers } from "../../../../../../test/bench/randomNumbers.ts";
import { inRounds } from "../../../../../../test/rounds.ts";
import { text } from "../../../../../engine/core/test/contract/support.ts";
import { damageableAtRandom, type Damageable } from "./randomDamage.ts";
import { testContext } from "../support/testContext.ts";
import { on, operationNamed, repaired, verified } from "./support.ts";

// Repair never removes what can be read, whatever the damage: what a saver reads of damaged threads before a repair, with all that it
// may remove, it reads after it.

const append = (state: string[], writes: string[][]): string[] => [...state, ...writes.flat()];

const graphOn = (checkpointer: TierSaver) =>
  new StateGraph(
    Annotation.Root({
      log: Annotation<string[]>({ reducer: (a, b) => [...a, ...b].slice(-6), default: () => [] }),
      often: () => new DeltaChannel<string[], string[]>(append, { snapshotFrequency: 2 }),
      rarely: () => new DeltaChannel<string[], string[]>(append, { snapshotFrequency: 3 }),
      ask: Annotation<boolean>(),
    }),
  )
    .addNode("think", ({ log }) => ({
      log: [text(`thought ${log.length}`)],
      often: ["thought"],
      rarely: ["thought"],
    }))
    .addNode("act", ({ ask }) => {
      if (ask) interrupt("go on?");
      return { log: [text("act")], rarely: ["act"] };
    })
    .addEdge(START, "think")
    .addEdge("think", "act")
    .compile({ checkpointer });

const threads = ["branched", "asking", "pruned", "plain"] as const;

async function turns(saver: TierSaver, threadId: string, count: number): Promise<void> {
  for (let n = 0; n < count; n += 1)
    await graphOn(saver).invoke({ log: [text(`turn ${n}`)], often: [`turn ${n}`], ask: false }, on(threadId));
}

/** Threads with branches, DeltaChannels, pending writes, and what was pruned. */
async function fill(storage: Damageable): Promise<void> {
  const saver = storage.open();
  const graph = graphOn(saver);
  for (const threadId of threads) await turns(saver, threadId, 2);
  const history = [];
  for await (const state of graph.getStateHistory(on("branched"))) history.push(state);
  await graph.updateState(history[3]!.config, { log: [text("edited")], rarely: ["edited"] });
  await turns(saver, "branched", 1);
  const checkpointId = history[0]!.config.configurable!["checkpoint_id"] as string;
  await promote(saver, { threadId: "branched", checkpointId });
  await turns(saver, "pruned", 2);
  await saver.prune(["pruned"], { strategy: "keep_latest", keepLast: 3 });
  if (isStacked(saver.tier)) {
    const archived = { thread: ["branched", "plain", "pruned"] };
    expect(
      await runOperation(operationNamed("archive"), archived, testContext(storage.open())),
    ).toMatchObject({ failed: 0 });
  }
  await turns(storage.open(), "branched", 1);
  for (const threadId of ["asking", "pruned"])
    await graph.invoke({ log: [text("question")], often: ["question"], ask: true }, on(threadId));
}

async function addressesIn(saver: TierSaver): Promise<Address[]> {
  const found: Address[] = [];
  for (const threadId of threads)
    for await (const { record } of saver.tier.list({ threadId, recordsOnly: true })) found.push(record);
  return found;
}

/** All that can be read, by what was asked for. */
type Readable = ReadonlyMap<string, unknown>;

async function readable(storage: Damageable, addresses: readonly Address[]): Promise<Readable> {
  const found = new Map<string, unknown>();
  const read = async (name: string, call: () => Promise<unknown>): Promise<void> => {
    const value = await call().catch((error: unknown) => ({ refused: String(error) }));
    if (value !== undefined) found.set(name, value);
  };
  for (const threadId of threads) {
    const saver = storage.open();
    await read(`${threadId}: head`, async () => (await saver.getTuple(on(threadId)))?.checkpoint.id);
    await read(`${threadId}: list`, async () => {
      const listed = new Set<string>();
      for await (const { config } of saver.list(on(threadId)))
        listed.add(config.configurable!["checkpoint_id"] as string);
      return listed;
    });
    for (const { checkpointId, namespace } of addresses.filter((each) => each.threadId === threadId)) {
      const config = {
        configurable: { thread_id: threadId, checkpoint_ns: namespace, checkpoint_id: checkpointId },
      };
      const name = `${threadId}: ${checkpointId}${namespace}`;
      await read(name, () => saver.getTuple(config));
      if (!found.has(name) || isRefused(found.get(name))) continue;
      await read(`${name}, DeltaChannels`, () =>
        saver.getDeltaChannelHistory({ config, channels: ["often", "rarely"] }),
      );
    }
  }
  return found;
}

const isRefused = (value: unknown): value is { refused: string } =>
  typeof value === "object" && value !== null && "refused" in value;

/** What was read before, and isn't now, or is something else than it was then or was when all was whole. */
function lost(before: Readable, after: Readable, whole: Readable): string[] {
  return [...before].flatMap(([name, value]) => {
    if (isRefused(value)) return [];
    const now = after.get(name);
    if (isRefused(now)) return [`${name} can't be read: ${now.refused}`];
    if (now === undefined) return [`${name} can't be read`];
    // A repair may set the head right.
    if (name.endsWith(": head")) return [];
    if (now instanceof Set && [...(value as Set<string>)].every((id) => now.has(id))) return [];
    if ([value, whole.get(name)].some((each) => isDeepStrictEqual(now, each))) return [];
    // The step after it runs again, where the head was set back to it.
    const [threadId] = name.split(": ");
    const head = `${threadId}: head`;
    if (name === `${threadId}: ${String(after.get(head))}` && before.get(head) !== after.get(head))
      return isDeepStrictEqual({ ...now, pendingWrites: [] }, { ...(value as object), pendingWrites: [] })
        ? []
        : [`${name} is something else`];
    return [`${name} is something else`];
  });
}

const every = Object.keys(damageableAtRandom) as (keyof typeof damageableAtRandom)[];
const rounds = inRounds<readonly (readonly [name: (typeof every)[number], count: number])[]>({
  few: [["folder", 2]],
  all: every.map((name) => [name, 20]),
  soak: every.map((name) => [name, 300]),
});
/** Another one tries other damages. The seed chooses what is damaged; ids and hashes are of each run. */
const first = Number(process.env["STRATIGRAPH_REPAIR_SEED"] ?? "1000");

describe.each(rounds)("in %s", (name, count) => {
  let storage: Damageable;
  let addresses: readonly Address[];
  let whole: Readable;
  beforeAll(async () => {
    storage = await damageableAtRandom[name]();
    await fill(storage);
    await storage.keep();
    addresses = await addressesIn(storage.open());
    whole = await readable(storage, addresses);
    expect((await verified(storage.open().tier)).findings).toEqual([]);
  });
  afterAll(() => storage.close());

  const seeds = Array.from({ length: count }, (_, n) => first + n);
  test.each(seeds)("seed %i: repair removes nothing that can be read", async (seed) => {
    const numbers = randomNumbers(seed);
    await storage.restore();
    const damages: string[] = [];
    for (let n = 0; n <= numbers() * 3; n += 1) damages.push(await storage.damage(numbers));
    const before = await readable(storage, addresses);
    const report = await verified(storage.open().tier);
    const outcome = await repaired(storage.open().tier, report, { apply: true, prune: true });
    const after = await readable(storage, addresses);
    const done = outcome.results.map(
      ({ finding, outcome: what, action }) => `${finding.kind} ${finding.part}: ${what}: ${action}`,
    );
    expect(lost(before, after, whole), [...damages, ...done].join("\n")).toEqual([]);
  });
});
