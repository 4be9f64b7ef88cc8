/**
 * A research assistant dies in the midst of its work. A client that speaks nothing but MCP finds out what it did, puts its run together again,
 * lets it finish, and then goes on from an earlier snapshot with another topic. No search is paid for twice.
 */
import { strict as assert } from "node:assert";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { Client } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { query, startPostgres } from "../../test/servers/postgres.ts";

const folder = mkdtempSync(join(tmpdir(), "research-assistant-"));
const searches = join(folder, "searches");
writeFileSync(searches, "");
const made = (): string[] => readFileSync(searches, "utf8").split("\n").slice(0, -1);
const server = await startPostgres();
await query(server.url, "create database assistant");
const url = server.url.replace(/\/[^/?]*(\?|$)/, "/assistant$1");
const env = { ...process.env, DATABASE_URL: url, SEARCHES: searches } as Record<string, string>;
const node = ["--import", "tsx", "--conditions=@stratigraph/source"];

try {
  // The assistant dies before its third search.
  const topics = ["Rome", "Pisa", "Siena"];
  const assistant = spawn(process.execPath, [...node, "work.ts", ...topics], {
    cwd: import.meta.dirname,
    env: { ...env, CRASH_AT: "Siena" },
    stdio: "inherit",
  });
  const [, signal] = (await once(assistant, "exit")) as [number | null, string | null];
  assert.equal(signal, "SIGKILL");
  assert.deepEqual(made(), ["Rome", "Pisa"]);

  // What an editor or another agent starts: npx stratigraph mcp --allow write
  const bin = fileURLToPath(new URL("bin.ts", import.meta.resolve("@stratigraph/cli")));
  const client = new Client(
    { name: "colleague", version: "1.0.0" },
    { versionNegotiation: { mode: { pin: "2026-07-28" } } },
  );
  await client.connect(
    new StdioClientTransport({
      command: process.execPath,
      args: [...node, bin, "mcp", "--allow", "write", "--quiet"],
      cwd: import.meta.dirname,
      env,
    }),
  );

  // What happened, and where it stopped.
  const history = await call<{ items: { checkpoint: string; step: number; head: boolean }[] }>("history", {
    thread: "trip",
  });
  const head = history.items.find((item) => item.head)!;
  const run = await read<Run>(`stratigraph://threads/trip/runs/${head.checkpoint}`);
  for (const { checkpoint, parent, step } of run.snapshots)
    console.log(`step ${step}  ${checkpoint.slice(-12)}  from ${parent?.slice(-12) ?? "nothing"}`);
  for (const { tool, status, args, before, after } of run.calls)
    console.log(
      `${tool} ${JSON.stringify(args.value)}: ${status}, between ${before.slice(-12)} and ${after?.slice(-12) ?? "?"}`,
    );
  assert.deepEqual(
    run.calls.map(({ args, status }) => [args.value.topic, status]),
    [
      ["Rome", "succeeded"],
      ["Pisa", "succeeded"],
      ["Siena", "unresolved"],
    ],
  );

  // It goes on from where it was. What was found is served from the journal.
  assert.equal((await call<{ outcome: string }>("run", { at: "trip" })).outcome, "done");
  assert.deepEqual(made(), ["Rome", "Pisa", "Siena"]);
  console.log(`The report: ${await report("trip")}`);

  // From the snapshot after Rome, with another second topic: one search more, and the trip itself stays as it is.
  const afterRome = run.snapshots.find(({ step }) => step === 1)!;
  await call("fork", {
    at: "trip",
    checkpoint: afterRome.checkpoint,
    to: ["by Lucca"],
    channel: "topics",
    value: JSON.stringify(["Rome", "Lucca", "Siena"]),
  });
  assert.equal((await call<{ outcome: string }>("run", { at: "by Lucca" })).outcome, "done");
  console.log(`By Lucca:   ${await report("by Lucca")}`);
  assert.equal(await report("trip"), "Rome has 4 letters. Pisa has 4 letters. Siena has 5 letters.");
  assert.equal(await report("by Lucca"), "Rome has 4 letters. Lucca has 5 letters. Siena has 5 letters.");
  console.log(`Searches that were paid for: ${made().join(", ")}`);
  assert.deepEqual(made(), ["Rome", "Pisa", "Siena", "Lucca"]);
  await client.close();

  /** Calls a tool, and returns its data. */
  async function call<T>(name: string, args: Record<string, unknown>): Promise<T> {
    const { isError, content, structuredContent } = await client.callTool({ name, arguments: args });
    assert.ok(isError !== true, JSON.stringify(content));
    return structuredContent as T;
  }

  /** Reads a resource that is JSON. */
  async function read<T>(uri: string): Promise<T> {
    const { contents } = await client.readResource({ uri });
    return JSON.parse((contents[0] as { text: string }).text) as T;
  }

  async function report(thread: string): Promise<string> {
    const shown = await call<{ channels: { value: string }[] }>("show", { at: thread, channel: "report" });
    return shown.channels[0]!.value;
  }
} finally {
  await server.stop();
  rmSync(folder, { recursive: true });
}

/** A run, as its resource tells it. */
interface Run {
  readonly snapshots: { checkpoint: string; parent?: string; step: number }[];
  readonly calls: {
    tool: string;
    status: string;
    args: { value: { topic: string } };
    before: string;
    after?: string;
  }[];
}
