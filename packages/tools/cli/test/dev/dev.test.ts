import { existsSync } from "node:fs";
import { join } from "node:path";
import { writeFile } from "node:fs/promises";
import type { Client } from "@langchain/langgraph-sdk";
import { createCheckpointer } from "stratigraph";
import { describe, expect, test } from "vitest";
import { inRounds } from "../../../../../test/rounds.ts";
import { waitUntil } from "../../../../../test/servers/process.ts";
import { freshDatabase } from "../../../../../test/servers/shared.ts";
import { spawnCli, type RunningCli } from "../terminal/support/spawnCli.ts";
import { clientOf, DevProject } from "./support/devProject.ts";

// `stratigraph dev` as a user starts it: a process with TypeScript graphs, which is killed in the midst of a run.

interface Addresses {
  readonly api: string;
  readonly studio: string;
  readonly inspector: string;
}

interface RunningDev extends RunningCli {
  readonly urls: Addresses;
  readonly client: Client;
}

async function begun({ folder }: DevProject): Promise<RunningDev> {
  // A graph that imports stratigraph gets the sources, and so another copy than the command line, which is a bundle.
  const env = { NODE_OPTIONS: "--conditions=@stratigraph/source" };
  const running = spawnCli(["dev", "--port", "0", "--json"], env, folder);
  await running.said(/Ctrl-C ends both/);
  const line = running
    .output()
    .split("\n")
    .find((each) => each.startsWith('{"api"'));
  const urls = JSON.parse(line!) as Addresses;
  return { ...running, urls, client: clientOf(urls.api) };
}

const waiting = async ({ client }: RunningDev, thread: string): Promise<boolean> =>
  (await client.threads.getState(thread)).next[0] === "second";

const [older, newer] = ["langgraph-api-1.5.0", "@langchain/langgraph-api"];
const both = [older, newer];

describe.each(inRounds({ few: [older], all: [older], soak: both }))("%s", (api) => {
  test("on PostgreSQL: a process that is killed in the midst of a run is started again, and everything is there", async () => {
    const database = await freshDatabase();
    const project = await DevProject.make({ api, ending: "ts" });
    await project.write("stratigraph.config.json", { checkpointer: database.url });
    try {
      const first = await begun(project);
      expect(first.output()).toContain(`dev server ${api.endsWith("1.5.0") ? "1.5.0" : "1.5.1"}.`);
      const { thread_id: done } = await first.client.threads.create();
      await first.client.runs.wait(done, "agent", { input: { said: ["hello"] } });
      const { thread_id: thread } = await first.client.threads.create({ metadata: { user: "anna" } });
      const run = await first.client.runs.create(thread, "agent", { input: { said: ["wait"] } });
      await waitUntil("the second node", () => waiting(first, thread));
      const other = spawnCli(["dev", "--port", "0", "--json"], {}, project.folder);
      expect(await other.ended).toEqual({ code: 1, signal: null });
      expect(other.output()).toMatch(
        new RegExp(
          `LOCKED".*\\.langgraph_api is in use by process ${first.child.pid}\\. One dev server .*--langgraph`,
        ),
      );
      first.child.kill("SIGKILL");
      await first.ended;

      const second = await begun(project);
      const { client } = second;
      expect(await client.threads.search({ sortBy: "created_at", sortOrder: "asc" })).toMatchObject([
        { thread_id: done, status: "idle", metadata: { graph_id: "agent" } },
        { thread_id: thread, status: "interrupted", metadata: { graph_id: "agent", user: "anna" } },
      ]);
      expect(await client.runs.get(thread, run.run_id)).toMatchObject({ status: "interrupted" });
      await writeFile(project.go, "");
      const values = await client.runs.wait(thread, "agent", { input: null });
      expect(values).toEqual({ said: ["wait", "first", "second"] });

      // The same threads are those of the application and the inspector.
      const { origin, hash } = new URL(second.urls.inspector);
      const listed = await fetch(`${origin}/api/threads`, {
        method: "POST",
        headers: { "x-stratigraph-token": hash.slice("#token=".length), "content-type": "application/json" },
        body: JSON.stringify({ tag: ["graph_id=agent"] }),
      });
      expect(((await listed.json()) as { items: object[] }).items).toHaveLength(2);
      // As if it had been stopped, and another one of another container had taken its file over.
      const next = { pid: 4711, startedAt: "1", token: "of the next holder" };
      await writeFile(join(project.folder, ".langgraph_api/stratigraph.lock"), JSON.stringify(next));
      expect(await second.ended).toEqual({ code: 1, signal: null });
      expect(second.output()).toMatch(/LOCKED.* was taken over by process 4711 .*--langgraph/);
      const checkpointer = await createCheckpointer(database.url);
      expect((await checkpointer.listThreads({ tag: { graph_id: "agent" } })).threads).toHaveLength(2);
      expect((await checkpointer.store().get(["seen"], "first"))?.value).toEqual({ thread });
      await checkpointer.end();
    } finally {
      await project.remove();
      await database.drop();
    }
  });
});

describe.each(inRounds({ few: [newer], all: [newer], soak: both }))("%s", (api) => {
  test("without a config, on the embedded database, which the graph opens too: Ctrl-C in the midst of a run, and a start", async () => {
    const project = await DevProject.make({
      api,
      ending: "ts",
      imports: 'import { createCheckpointer } from "stratigraph";',
      compile: "builder.compile({ checkpointer: await createCheckpointer() })",
    });
    try {
      const first = await begun(project);
      const { thread_id: thread } = await first.client.threads.create();
      const run = await first.client.runs.create(thread, "agent", { input: { said: ["wait"] } });
      await waitUntil("the second node", () => waiting(first, thread));
      first.child.kill("SIGINT");
      expect(await first.ended).toEqual({ code: 0, signal: null });
      expect(existsSync(join(project.folder, ".stratigraph/stratigraph.lock"))).toBe(false);

      const second = await begun(project);
      const { client } = second;
      expect(await client.threads.search()).toMatchObject([{ thread_id: thread, status: "interrupted" }]);
      expect(await client.runs.get(thread, run.run_id)).toMatchObject({ status: "interrupted" });
      await writeFile(project.go, "");
      const values = await client.runs.wait(thread, "agent", { input: null });
      expect(values).toEqual({ said: ["wait", "first", "second"] });
      second.child.kill("SIGTERM");
      expect(await second.ended).toEqual({ code: 0, signal: null });
    } finally {
      await project.remove();
    }
  });
});
