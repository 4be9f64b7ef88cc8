import { Annotation, interrupt, START, StateGraph } from "@langchain/langgraph";
import { PostgresSaver } from "@stratigraph/postgres";
import pg from "pg";
import { startPostgres } from "../../servers/postgres.ts";

// What a page of the threads that wait costs at 25,000 and at 1,000,000 checkpoints, one thread in a hundred waiting:
// npx tsx --conditions=@stratigraph/source test/bench/scale/statuses.ts

const State = Annotation.Root({ said: Annotation<string> });
const steps = 17;

/** A thread of 20 checkpoints that waits, or is idle. */
async function seed(saver: PostgresSaver, threadId: string, asks: boolean): Promise<void> {
  const graph = new StateGraph(State).addNode("n0", () => ({ said: "0" })).addEdge(START, "n0");
  let last = "n0";
  for (let n = 1; n <= steps; n += 1) {
    const name = `n${n}`;
    const isLast = n === steps;
    graph.addNode(name, () => ({ said: isLast && asks ? interrupt<string, string>("Book it?") : String(n) }));
    (graph as { addEdge(from: string, to: string): unknown }).addEdge(last, name);
    last = name;
  }
  await graph
    .compile({ checkpointer: saver })
    .invoke({}, { configurable: { thread_id: threadId }, recursionLimit: 100, durability: "sync" });
}

const server = await startPostgres();
const client = new pg.Client({ connectionString: server.url });
try {
  const saver = PostgresSaver.fromConnString(server.url);
  await saver.setup();
  await seed(saver, "waits", true);
  await seed(saver, "idle", false);
  await client.connect();
  let threads = 2;
  for (const checkpoints of [25_000, 1_000_000]) {
    for (const wanted = checkpoints / 20; threads < wanted;) {
      const until = Math.min(wanted, threads + 2000);
      await client.query(
        `select count(stratigraph.copy_thread_1(stratigraph.id_key(case when n % 100 = 0 then 'waits' else 'idle' end),
                                                stratigraph.id_key('thread ' || n), null))
           from generate_series($1::integer, $2::integer - 1) as n`,
        [threads, until],
      );
      threads = until;
    }
    await client.query(
      "update stratigraph.threads set written_at = date_trunc('minute', now()) - (thread % 5000) * interval '1 minute'",
    );
    await client.query("vacuum analyze");
    const { rows } = await client.query<Record<string, string>>(
      "select (select count(*) from stratigraph.checkpoints) as checkpoints, count(*) as threads, count(*) filter (where status = 'w') as waiting from stratigraph.threads",
    );
    console.log(JSON.stringify(rows[0]));
    for (const [what, call] of [
      ["20 that wait, oldest first", "threads_by_status_1(null, false, true, null, null, null, 20, 'w')"],
      ["20 that are idle, newest first", "threads_by_status_1(null, true, true, null, null, null, 20, 'i')"],
    ] as const) {
      const explain = `explain (analyze, buffers, format json) select * from stratigraph.${call}`;
      await client.query(explain);
      const plan = (await client.query<{ "QUERY PLAN": readonly Record<string, unknown>[] }>(explain))
        .rows[0]!;
      const [{ Plan: top, "Execution Time": ms }] = plan["QUERY PLAN"] as unknown as [
        { Plan: Record<string, number>; "Execution Time": number },
      ];
      console.log(
        `${what}: ${top["Actual Rows"]} rows, ${top["Shared Hit Blocks"]! + top["Shared Read Blocks"]!} blocks, ${ms.toFixed(1)} ms`,
      );
    }
    const begun = performance.now();
    const page = await saver.listThreads({ status: "waiting", order: "oldest", limit: 20 });
    console.log(`listThreads: ${page.threads.length} threads, ${(performance.now() - begun).toFixed(1)} ms`);
  }
  await saver.end();
} finally {
  await client.end();
  await server.stop();
}
