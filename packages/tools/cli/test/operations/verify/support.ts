import { randomBytes } from "node:crypto";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Annotation, START, StateGraph, interrupt, type BaseCheckpointSaver } from "@langchain/langgraph";
import { MemoryTier, TierSaver, type Tier } from "@stratigraph/core";
import {
  operations,
  runOperation,
  type Finding,
  type RepairOutcome,
  type Report,
} from "../../../src/operations/index.ts";
import { postgres } from "@stratigraph/postgres";
import { redis } from "@stratigraph/redis";
import { folder, s3 } from "@stratigraph/s3";
import { freshDatabase, sharedRedis } from "../../../../../../test/servers/shared.ts";
import { openBucket } from "../../../../../engine/s3/test/support/bucket.ts";
import { testContext } from "../support/testContext.ts";

/** A storage, opened anew for each saver, so that nothing is answered from what another one remembers. */
export interface Opened {
  open(): Tier;
  close(): Promise<void>;
}

/** Every storage technology, on real servers. */
export const storages = {
  memory: async (): Promise<Opened> => {
    const tier = new MemoryTier();
    return { open: () => tier, close: async () => {} };
  },
  postgres: async () => {
    const database = await freshDatabase();
    const tiers: Tier[] = [];
    const open = (): Tier => opened(tiers, postgres({ url: database.url }));
    await open().setup!();
    return { open, url: database.url, close: async () => (await ended(tiers), database.drop()) };
  },
  redis: async () => {
    const place = await sharedRedis();
    const tiers: Tier[] = [];
    return { open: () => opened(tiers, redis({ ...place, ttl: "1h" })), place, close: () => ended(tiers) };
  },
  s3: async () => {
    const bucket = await openBucket();
    return {
      open: () => s3({ client: bucket.client, bucket: bucket.bucket }),
      ...bucket,
    };
  },
  folder: async () => {
    const path = await mkdtemp(join(tmpdir(), "stratigraph-verify-"));
    return { open: () => folder({ path }), path, close: () => rm(path, { recursive: true, force: true }) };
  },
} satisfies Record<string, () => Promise<Opened>>;

function opened(tiers: Tier[], tier: Tier): Tier {
  tiers.push(tier);
  return tier;
}

async function ended(tiers: readonly Tier[]): Promise<void> {
  for (const tier of tiers) await tier.end?.();
}

/** Lines that a thread remembers: threads of tests that write without end stay small. */
const longestLog = 20;

const State = Annotation.Root({
  log: Annotation<string[]>({ reducer: (a, b) => [...a, ...b].slice(-longestLog), default: () => [] }),
  note: Annotation<string>(),
});

/** Text that is long enough for blobs and patches, and that doesn't compress to nothing. */
export const line = (what: string): string => `${what} ${randomBytes(1200).toString("base64")}`;

/** A turn: two nodes. A turn whose note is "ask" asks in between. */
export function agent(checkpointer: BaseCheckpointSaver) {
  return new StateGraph(State)
    .addNode("think", ({ log }) => ({ log: [line(`thought ${log.length}`)] }))
    .addNode("act", ({ note }) => {
      if (note === "ask") interrupt("go on?");
      return { log: [line("act")] };
    })
    .addEdge(START, "think")
    .addEdge("think", "act")
    .compile({ checkpointer });
}

export const on = (threadId: string) => ({ configurable: { thread_id: threadId } });

/** Runs some turns of a thread. */
export async function turns(saver: BaseCheckpointSaver, threadId: string, count: number): Promise<void> {
  for (let n = 0; n < count; n += 1)
    await agent(saver).invoke({ log: [line(`turn ${n}`)], note: "" }, on(threadId));
}

export const operationNamed = (name: string) => operations.find((each) => each.name === name)!;

export async function verified(tier: Tier, input: object = {}): Promise<Report> {
  const context = testContext(new TierSaver(tier));
  return (await runOperation(operationNamed("verify"), input, context)) as Report;
}

export async function repaired(
  tier: Tier,
  report: Report,
  input: object = { apply: true },
): Promise<RepairOutcome> {
  const context = testContext(new TierSaver(tier));
  return (await runOperation(operationNamed("repair"), { report, ...input }, context)) as RepairOutcome;
}

/** A finding without what a test can't foretell. */
export const brief = ({ kind, severity, part, tier, thread, goodIn }: Finding) => ({
  kind,
  severity,
  part,
  tier,
  thread,
  goodIn,
});
