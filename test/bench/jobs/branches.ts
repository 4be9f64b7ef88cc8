import { AIMessage, HumanMessage } from "@langchain/core/messages";
import { END, MessagesAnnotation, START, StateGraph } from "@langchain/langgraph";
import type { BaseCheckpointSaver } from "@langchain/langgraph-checkpoint";
import { fork, forkMany, merge } from "@stratigraph/branch";
import { pack } from "@stratigraph/core/internal";
import { PostgresSaver } from "@stratigraph/postgres";
import { openSaver } from "../savers.ts";
import { percentile } from "../stats.ts";
import { storedBytes } from "../storedBytes.ts";
import { TurnMaker } from "../synthetic.ts";

/** Input of the job. */
export interface BranchesInput {
  url: string;
  schema: string;
  officialSchema: string;
  /** Turns of three checkpoints each, about 3.2 kB. */
  turns: number;
  forks: number;
  /** How many turns (of two messages) each of the two branches has before they are merged. */
  branchTurns: number;
  merges: number;
}

/** Times in milliseconds, sizes in bytes. */
export interface BranchesResult {
  checkpoints: number;
  /** Serialised state, and the same stored whole: packed as one blob. */
  state: number;
  packed: number;
  forkP50: number;
  forkP99: number;
  /** New bytes of one fork: all tables and indexes after VACUUM, and contents alone. */
  forkStored: number;
  forkPayload: number;
  /** A fork from half-way back. */
  oldForkP50: number;
  forkManyEach: number;
  fullFork: number;
  mergeP50: number;
  officialCopyP50: number;
  officialStored: number;
}

type Config = { configurable: { thread_id: string }; durability: "sync" };
const on = (thread_id: string): Config => ({ configurable: { thread_id }, durability: "sync" });

/** Forks and merges on our PostgresSaver; then the last checkpoint of the same thread copied by the official one's API. */
export async function job(input: BranchesInput): Promise<BranchesResult> {
  const saver = PostgresSaver.fromConnString(input.url, { schema: input.schema });
  await saver.setup();
  const text = new TurnMaker();
  const graph = compile(saver, () => text.text(225));
  for (let turn = 0; turn < input.turns; turn += 1)
    await graph.invoke({ messages: [new HumanMessage(text.text(225))] }, on("long"));
  let checkpoints = 0;
  let half = "";
  for await (const { record } of saver.tier.list({ threadId: "long", recordsOnly: true })) {
    checkpoints += 1;
    if (checkpoints <= (input.turns * 3) / 2) half = record.checkpointId;
  }
  const { values } = await graph.getState(on("long"));
  const [, serialised] = await saver.serde.dumpsTyped(values.messages);
  const packed = (await pack(serialised)).length;
  const forks = await measureForks(saver, input, half);
  const mergeP50 = await measureMerges(saver, graph, text, input);
  const official = await measureOfficial(saver, input);
  await saver.end();
  return { checkpoints, state: serialised.length, packed, ...forks, mergeP50, ...official };
}

function compile(checkpointer: BaseCheckpointSaver, answer: () => string) {
  return new StateGraph(MessagesAnnotation)
    .addNode("answer", () => ({ messages: [new AIMessage(answer())] }))
    .addEdge(START, "answer")
    .addEdge("answer", END)
    .compile({ checkpointer });
}

async function timed(work: () => Promise<unknown>): Promise<number> {
  const start = performance.now();
  await work();
  return performance.now() - start;
}

async function repeated(times: number, work: (n: number) => Promise<unknown>): Promise<number[]> {
  const samples: number[] = [];
  for (let n = 0; n < times; n += 1) samples.push(await timed(() => work(n)));
  return samples;
}

async function measureForks(saver: PostgresSaver, { url, schema, forks }: BranchesInput, half: string) {
  const before = await storedBytes(url, schema);
  const one = await repeated(forks, () => fork(saver, { threadId: "long" }));
  const after = await storedBytes(url, schema);
  const old = await repeated(20, () => fork(saver, { threadId: "long", checkpointId: half }));
  const many = await timed(() => forkMany(saver, { threadId: "long" }, forks));
  return {
    forkP50: percentile(one, 0.5),
    forkP99: percentile(one, 0.99),
    forkStored: (after.total - before.total) / forks,
    forkPayload: (after.payload - before.payload) / forks,
    oldForkP50: percentile(old, 0.5),
    forkManyEach: many / forks,
    fullFork: await timed(() => fork(saver, { threadId: "long" }, { history: "full" })),
  };
}

async function measureMerges(
  saver: PostgresSaver,
  graph: ReturnType<typeof compile>,
  text: TurnMaker,
  { branchTurns, merges }: BranchesInput,
): Promise<number> {
  await graph.invoke({ messages: [new HumanMessage("Hello.")] }, on("short"));
  await forkMany(saver, { threadId: "short" }, ["a", "b"]);
  for (const branch of ["a", "b"])
    for (let turn = 0; turn < branchTurns; turn += 1)
      await graph.invoke({ messages: [new HumanMessage(text.text(65))] }, on(branch));
  const targets = await forkMany(saver, { threadId: "a" }, merges, { history: "full" });
  const samples = await repeated(merges, async (n) => {
    const { status } = await merge(graph, targets[n]!.threadId, { threadId: "b" });
    if (status !== "merged") throw new Error(`the merge came to ${status}`);
  });
  const { values } = await graph.getState(on(targets[0]!.threadId));
  const expected = 2 + 2 * 2 * branchTurns;
  if (values.messages.length !== expected)
    throw new Error(`${values.messages.length} messages after the merge, not ${expected}`);
  return percentile(samples, 0.5);
}

/** What a program that forks a thread with the official saver has to do: read the checkpoint, put it under another thread. */
async function measureOfficial(saver: PostgresSaver, { url, officialSchema, forks }: BranchesInput) {
  const { saver: official, close } = await openSaver("official-postgres", { url, schema: officialSchema });
  const copy = async (from: BaseCheckpointSaver, source: string, target: string): Promise<void> => {
    const tuple = (await from.getTuple({ configurable: { thread_id: source } }))!;
    const config = { configurable: { thread_id: target, checkpoint_ns: "" } };
    await official.put(config, tuple.checkpoint, tuple.metadata!, tuple.checkpoint.channel_versions);
  };
  try {
    await copy(saver, "long", "long");
    const before = await storedBytes(url, officialSchema);
    const samples = await repeated(Math.min(20, forks), (n) => copy(official, "long", `copy ${n}`));
    const after = await storedBytes(url, officialSchema);
    return {
      officialCopyP50: percentile(samples, 0.5),
      officialStored: (after.total - before.total) / samples.length,
    };
  } finally {
    await close();
  }
}
