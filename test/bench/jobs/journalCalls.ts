import { randomBytes } from "node:crypto";
import { Annotation, START, StateGraph } from "@langchain/langgraph";
import { createJournal } from "@stratigraph/journal";
import { PostgresSaver } from "@stratigraph/postgres";
import { percentile } from "../stats.ts";
import { storedBytes } from "../storedBytes.ts";
import { countWire, resetWire } from "../wire.ts";

/** Input of the job. */
export interface JournalCallsInput {
  url: string;
  schema: string;
  /** Calls that are measured, one after another. */
  calls: number;
  /** Calls at the same time on one thread. */
  atOnce: number;
  /** Entries of the journal that is opened cold. */
  entries: number;
  /** How often it is opened. */
  opens: number;
}

/** Times in milliseconds, sizes in bytes; statements per call. */
export interface JournalCallsResult {
  bareP50: number;
  onceP50: number;
  onceP99: number;
  onceStatements: number;
  readP50: number;
  readP99: number;
  readStatements: number;
  hitP50: number;
  hitP99: number;
  hitStatements: number;
  /** Per call, where several are made at the same time. */
  togetherEach: number;
  togetherStatements: number;
  entries: number;
  openP50: number;
  openWorst: number;
  /** CPU of this process, user and system. */
  openCpuP50: number;
  openStatements: number;
  /** Of one `once` call with its arguments and its result: all tables and indexes after VACUUM, and contents alone. */
  storedPerCall: number;
  payloadPerCall: number;
}

const on = (thread_id: string) => ({ configurable: { thread_id } });
const result = { receipt: "r-1846", lines: Array.from({ length: 8 }, (_, n) => `line ${n} of a receipt`) };

/** A tool that does nothing, called bare and through the journal; journals that are opened cold. */
export async function job(input: JournalCallsInput): Promise<JournalCallsResult> {
  const wire = countWire();
  const open = () => PostgresSaver.fromConnString(input.url, { schema: input.schema });
  const saver = open();
  await saver.setup();
  const journal = createJournal(saver);
  const pay = (n: number) => Promise.resolve({ ...result, n });
  const call = (thread: string, n: number, effects: "once" | "none" = "once") =>
    journal.run(
      on(thread),
      { id: `pay ${n}`, tool: "pay", args: { order: `order ${n}`, amount: n }, effects },
      () => pay(n),
    );

  const measure = async (count: number, work: (n: number) => Promise<unknown>) => {
    resetWire(wire);
    const times: number[] = [];
    for (let n = 0; n < count; n += 1) {
      const start = performance.now();
      await work(n);
      times.push(performance.now() - start);
    }
    const statements = wire.statements / count;
    return { p50: percentile(times, 0.5), p99: percentile(times, 0.99), statements };
  };

  // The first calls of a thread also begin its journal and the lease.
  for (const thread of ["once", "reads", "together"]) for (let n = -50; n < 0; n += 1) await call(thread, n);
  const before = await storedBytes(input.url, input.schema);
  const bare = await measure(input.calls, pay);
  const once = await measure(input.calls, (n) => call("once", n));
  const after = await storedBytes(input.url, input.schema);
  const read = await measure(input.calls, (n) => call("reads", n, "none"));
  const hit = await measure(input.calls, (n) => call("once", n));

  resetWire(wire);
  const start = performance.now();
  for (let n = 0; n < input.calls; n += input.atOnce)
    await Promise.all(Array.from({ length: input.atOnce }, (_, i) => call("together", n + i)));
  const togetherEach = (performance.now() - start) / input.calls;
  const togetherStatements = wire.statements / input.calls;

  const { entries } = input;
  // Two entries per call, besides the first one, which is the process's.
  let { seq } = await journal.head("long");
  for (let n = 0; seq < entries; n += 64) {
    await Promise.all(
      Array.from({ length: Math.min(64, Math.ceil((entries - seq) / 2)) }, (_, i) => call("long", n + i)),
    );
    ({ seq } = await journal.head("long"));
  }
  const opened: number[] = [];
  const openCpu: number[] = [];
  let openStatements = 0;
  for (let n = 0; n < input.opens; n += 1) {
    const cold = open();
    await cold.tier.ping!();
    resetWire(wire);
    const begun = performance.now();
    const cpuBefore = process.cpuUsage();
    await createJournal(cold).run(
      on("long"),
      { id: "pay 7", tool: "pay", args: { order: "order 7", amount: 7 } },
      () => {
        throw new Error("the call isn't in the journal");
      },
    );
    opened.push(performance.now() - begun);
    const { user, system } = process.cpuUsage(cpuBefore);
    openCpu.push((user + system) / 1000);
    openStatements = wire.statements;
    await cold.end();
  }
  // By a process that has run for long, as the one is that dies: each thread has a conversation of 200 kB, too.
  const turns = Array.from({ length: 200 }, () => randomBytes(500).toString("hex"));
  const graph = new StateGraph(
    Annotation.Root({
      turns: Annotation<string[]>({ reducer: (all, more) => [...all, ...more], default: () => [] }),
    }),
  )
    .addNode("agent", async (_, config) => {
      await journal.run(config, { id: "pay first", tool: "pay", args: {} }, () => pay(0));
      return {};
    })
    .addEdge(START, "agent")
    .compile({ checkpointer: saver });
  for (const thread of ["brief", "long"]) await graph.invoke({ turns }, on(thread));
  await journal.end();
  await saver.end();
  return {
    bareP50: bare.p50,
    onceP50: once.p50,
    onceP99: once.p99,
    onceStatements: once.statements,
    readP50: read.p50,
    readP99: read.p99,
    readStatements: read.statements,
    hitP50: hit.p50,
    hitP99: hit.p99,
    hitStatements: hit.statements,
    togetherEach,
    togetherStatements,
    entries: seq,
    openP50: percentile(opened, 0.5),
    openWorst: Math.max(...opened),
    openCpuP50: percentile(openCpu, 0.5),
    openStatements,
    storedPerCall: (after.total - before.total) / input.calls,
    payloadPerCall: (after.payload - before.payload) / input.calls,
  };
}
