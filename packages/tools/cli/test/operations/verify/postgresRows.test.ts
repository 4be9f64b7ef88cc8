import pg from "pg";
import { Annotation, START, StateGraph, type BaseCheckpointSaver } from "@langchain/langgraph";
import { TierSaver } from "@stratigraph/core";
import { line, on, repaired, storages, verified } from "./support.ts";

// Damage of single columns in PostgreSQL, of which a reader would get other values, or repair would take something away.

const State = Annotation.Root({ first: Annotation<string>(), second: Annotation<string>() });

function agent(checkpointer: BaseCheckpointSaver) {
  const put = () => ({ first: line("first"), second: line("second") });
  return new StateGraph(State).addNode("put", put).addEdge(START, "put").compile({ checkpointer });
}

let storage: Awaited<ReturnType<typeof storages.postgres>>;
let pool: pg.Pool;
beforeAll(async () => {
  storage = await storages.postgres();
  pool = new pg.Pool({ connectionString: storage.url, max: 1 });
});
beforeEach(async () => {
  const saver = new TierSaver(storage.open());
  await agent(saver).invoke({ first: line("one") }, on("whole"));
  for (const first of [line("one"), line("two")]) await agent(saver).invoke({ first }, on("damaged"));
  expect((await verified(storage.open())).findings).toEqual([]);
});
afterEach(async () => {
  const tables = ["threads", "heads", "checkpoints", "blobs", "writes"].map((name) => `stratigraph.${name}`);
  await pool.query(`truncate ${tables.join(", ")}`);
});
afterAll(async () => {
  await pool.end();
  await storage.close();
});

const thread = `thread = (select max(thread) from stratigraph.threads)`;
const head = `id = (select id from stratigraph.heads where ${thread}) and ${thread}`;
const parent = `id = (select parent from stratigraph.checkpoints where ${head}) and ${thread}`;
const damage = async (text: string): Promise<void> => {
  expect((await pool.query(text)).rowCount).toBe(1);
};
const kindsOf = (findings: readonly { kind: string; part: string }[]): string[] =>
  findings.map(({ kind, part }) => `${kind} ${part}`);
const latest = async (): Promise<string | undefined> =>
  (await new TierSaver(storage.open()).getTuple(on("damaged")))?.checkpoint.id;

test("values that changed places are damage", async () => {
  await damage(
    `update stratigraph.checkpoints set blobs = substr(blobs, 21, 20) || substr(blobs, 1, 20) where ${head} and length(blobs) = 40`,
  );
  await expect(latest()).rejects.toMatchObject({ code: "CORRUPT" });
  expect(kindsOf((await verified(storage.open())).findings)).toEqual(["corrupt record"]);
});

test("a blob that nothing names stays while another one is missing: it may be that one", async () => {
  await damage(
    `update stratigraph.blobs set hash = set_byte(hash, 3, get_byte(hash, 3) # 1) where ${thread} and hash =
       (select substr(blobs, 1, 20) from stratigraph.checkpoints where ${parent})`,
  );
  const count = async (): Promise<unknown> =>
    (await pool.query("select count(*) from stratigraph.blobs")).rows[0];
  const before = await count();
  const report = await verified(storage.open());
  expect(kindsOf(report.findings)).toEqual(["missing-blob blob"]);
  await repaired(storage.open(), report, { apply: true, prune: true });
  expect(await count()).toEqual(before);
});

test("a head with a damaged mark of a side branch isn't set back", async () => {
  const before = await latest();
  await damage(`update stratigraph.checkpoints set lost_to = '' where ${head}`);
  const report = await verified(storage.open());
  expect(kindsOf(report.findings)).toEqual(["wrong-head head"]);
  expect((await repaired(storage.open(), report)).results).toMatchObject([{ outcome: "impossible" }]);
  expect(await latest()).toBe(before);
});

test("a head whose key means nothing is found, and doesn't keep other threads from being verified", async () => {
  await damage(`update stratigraph.heads set id = set_byte(id, 0, 0) where ${thread}`);
  const report = await verified(storage.open());
  expect(kindsOf(report.findings)).toEqual(["corrupt thread"]);
  expect(report.findings[0]!.detail).toContain('"damaged"');
  expect(report.totals.threads).toBe(2);
  const named = await verified(storage.open(), { threads: "damaged" });
  expect(named.findings[0]).toMatchObject({ kind: "corrupt", thread: "damaged" });
});

test("a thread whose key means nothing is found, and doesn't keep others from being verified", async () => {
  await damage(`update stratigraph.threads set key = set_byte(key, 0, 0) where ${thread}`);
  const report = await verified(storage.open());
  expect(kindsOf(report.findings)).toEqual(["corrupt thread"]);
  expect(report.totals.threads).toBe(1);
});

test("patches in a circle are found without following them", async () => {
  await damage(
    `update stratigraph.blobs set base = hash where ${thread} and hash =
       (select substr(blobs, 1, 20) from stratigraph.checkpoints where ${head})`,
  );
  const report = await verified(storage.open());
  expect(kindsOf(report.findings)).toEqual(["corrupt thread"]);
  expect(report.findings[0]!.detail).toContain("is a circle");
  expect((await repaired(storage.open(), report)).results).toMatchObject([{ outcome: "impossible" }]);
});
