/**
 * Forks a thread of 1,000 checkpoints and about 1 MB a hundred times on PostgreSQL, and merges two branches of 50
 * messages. Prints milliseconds and new bytes. Starts a PostgreSQL of its own (fsync on), or uses the schema
 * "branch_bench" of the database that DATABASE_URL names.
 *
 *     node --import tsx --conditions=@stratigraph/source packages/branch/bench/fork.ts
 */
import { AIMessage, HumanMessage } from "@langchain/core/messages";
import { END, MessagesAnnotation, START, StateGraph } from "@langchain/langgraph";
import { fork, forkMany, merge, type Fork } from "@stratigraph/branch";
import { PostgresSaver } from "@stratigraph/postgres";
import pg from "pg";
import { startPostgres } from "../../../test/servers/postgres.ts";

const forks = Number(process.env.FORKS ?? 100);
const turns = 333;
const say = (line: string): void => void process.stdout.write(`${line}\n`);
const quantile = (values: number[], q: number): number =>
  values.toSorted((a, b) => a - b)[Math.floor((values.length - 1) * q)]!;

const given = process.env["DATABASE_URL"];
const server = given === undefined ? await startPostgres({ fsync: true }) : undefined;
const pool = new pg.Pool({ connectionString: given ?? server!.url, max: 4 });
const saver = new PostgresSaver({ pool, schema: "branch_bench" });
await saver.setup();
/** Text that doesn't compress to nothing: words drawn by a fixed generator. */
let seed = 1;
const words = (count: number): string =>
  Array.from({ length: count }, () => {
    seed = (seed * 48_271) % 2_147_483_647;
    return seed.toString(36);
  }).join(" ");
const graph = new StateGraph(MessagesAnnotation)
  .addNode("answer", () => ({ messages: [new AIMessage(words(200))] }))
  .addEdge(START, "answer")
  .addEdge("answer", END)
  .compile({ checkpointer: saver });
const on = (thread_id: string) => ({ configurable: { thread_id }, durability: "sync" as const });

const bytesOf = async (): Promise<number> => {
  const { rows } = await pool.query<{ bytes: string }>(
    "select sum(length(bytes)) as bytes from branch_bench.blobs",
  );
  return Number(rows[0]!.bytes);
};
async function timed(work: () => Promise<unknown>): Promise<number> {
  const start = performance.now();
  await work();
  return performance.now() - start;
}

const thread = `long-${Date.now()}`;
for (let turn = 0; turn < turns; turn += 1)
  await graph.invoke({ messages: [new HumanMessage(words(200))] }, on(thread));
const { values } = await graph.getState(on(thread));
const state = Buffer.byteLength(JSON.stringify(values));
let checkpoints = 0;
for await (const _ of saver.tier.list({ threadId: thread, recordsOnly: true })) checkpoints += 1;
const before = await bytesOf();
say(
  `${checkpoints} checkpoints, state ${(state / 1e6).toFixed(2)} MB as JSON, all blobs ${(before / 1e6).toFixed(2)} MB`,
);

const single: number[] = [];
const cpu = process.cpuUsage();
const ids: string[] = [];
for (let n = 0; n < forks; n += 1)
  single.push(await timed(async () => ids.push((await fork(saver, { threadId: thread })).threadId)));
const grown = (await bytesOf()) - before;
const spent = process.cpuUsage(cpu);
say(
  `fork, one by one   p50 ${quantile(single, 0.5).toFixed(1)} ms  p99 ${quantile(single, 0.99).toFixed(1)} ms  ${(grown / forks / 1000).toFixed(0)} kB new each, ${((spent.user + spent.system) / 1000 / forks).toFixed(1)} ms CPU here`,
);
const many = await timed(() => forkMany(saver, { threadId: thread }, forks));
say(`forkMany of ${forks}    ${(many / forks).toFixed(1)} ms each`);
const full = await timed(() => fork(saver, { threadId: thread }, { history: "full" }));
say(`fork, full history ${full.toFixed(1)} ms`);

const short = `${thread}-short`;
await graph.invoke({ messages: [new HumanMessage("short")] }, on(short));
const [a, b] = (await forkMany(saver, { threadId: short }, 2)) as [Fork, Fork];
for (const { threadId } of [a, b])
  for (let turn = 0; turn < 25; turn += 1)
    await graph.invoke({ messages: [new HumanMessage(words(50))] }, on(threadId));
const merges: number[] = [];
for (const { threadId } of await forkMany(saver, { threadId: a.threadId }, 10, { history: "full" })) {
  const work = async (): Promise<void> => {
    const { status } = await merge(graph, threadId, { threadId: b.threadId });
    if (status !== "merged") throw new Error(status);
  };
  merges.push(await timed(work));
}
say(`merge of two branches of 50 messages, p50 ${quantile(merges, 0.5).toFixed(1)} ms`);
for (const threadId of [thread, ...ids]) await saver.deleteThread(threadId);
await pool.end();
await server?.stop();
