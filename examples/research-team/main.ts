/**
 * A researcher, an analyst and a writer, each in a process of its own, write a report over one workspace. Then they do it again, and are killed
 * and restarted at random: they end with the same report. Each moment of it can be looked at afterwards.
 */
import { strict as assert } from "node:assert";
import { spawn, type ChildProcess } from "node:child_process";
import { join } from "node:path";
import { PostgresSaver } from "@stratigraph/postgres";
import { createWorkspace } from "@stratigraph/workspace";
import { query, startPostgres } from "../../test/servers/postgres.ts";

const roles = ["researcher", "analyst", "writer"];
const cities = ["Rome", "Pisa", "Siena"];
const server = await startPostgres();
const failing = new AbortController();

try {
  const undisturbed = await writeReport("calm", 0);
  const disturbed = await writeReport("stormy", 6);
  assert.equal(disturbed, undisturbed);
  console.log(`\nBoth times: ${undisturbed}`);
} finally {
  await server.stop();
}

/** Has the team write a report in a database of its own, and kills its agents so often. */
async function writeReport(database: string, kills: number): Promise<string> {
  await query(server.url, `create database ${database}`);
  const url = server.url.replace(/\/[^/?]*(\?|$)/, `/${database}$1`);
  await using saver = PostgresSaver.fromConnString(url);
  await saver.setup();
  const workspace = createWorkspace(saver, "report", { agent: "editor" });
  const board = workspace.board();
  for (const city of cities)
    await board.add(city, { what: `look at ${city}`, data: { role: "researcher", city } });
  await board.add("analysis", { what: "compare", after: cities, data: { role: "analyst" } });
  await board.add("report", { what: "our trip", after: ["analysis"], data: { role: "writer" } });

  const team = new Map(roles.map((role) => [role, start(role, url)]));
  let [seen, killed] = [0, 0];
  for await (const event of workspace.watch({ since: 0, signal: failing.signal })) {
    const place = "key" in event ? `${event.namespace.join("/")}/${event.key}` : "";
    console.log(
      `${database.padEnd(7)}${String(event.author.agent).padEnd(11)}${event.kind.padEnd(5)}${place}`,
    );
    const report = (await board.tasks()).find(({ key }) => key === "report");
    if (report?.status === "done") break;
    seen += 1;
    if (killed >= kills || seen % 2 === 0) continue;
    const role = roles[Math.floor(Math.random() * roles.length)]!;
    console.log(`${database.padEnd(7)}${role} is killed`);
    team.get(role)!.kill("SIGKILL");
    await ended(team.get(role)!);
    team.set(role, start(role, url));
    killed += 1;
  }
  await Promise.all([...team.values()].map(ended));
  failing.signal.throwIfAborted();

  // Any moment can be looked at: what was known then, and who had said it.
  const known: number[] = [];
  for await (const { version } of workspace.log()) {
    const past = await workspace.at(version);
    known.push((await past.search(["notes", "researcher"])).length);
  }
  assert.deepEqual(known, known.toSorted());
  assert.equal(known.at(-1), cities.length);
  for await (const { author } of workspace.history(["notes", "writer"], "report"))
    assert.equal(author.agent, "writer");
  const { result } = (await board.tasks()).find(({ key }) => key === "report")!;
  return String(result!["text"]);
}

function start(role: string, url: string): ChildProcess {
  const args = [
    "--import",
    "tsx",
    "--conditions=@stratigraph/source",
    join(import.meta.dirname, "agent.ts"),
    role,
    url,
  ];
  const agent = spawn(process.execPath, args, { stdio: ["ignore", "ignore", "inherit"] });
  // One that is killed has no exit code.
  agent.once("exit", (code) => code && failing.abort(new Error(`The ${role} ended with ${code}.`)));
  return agent;
}

async function ended(agent: ChildProcess): Promise<void> {
  if (agent.exitCode !== null || agent.signalCode !== null) return;
  await new Promise((resolve) => agent.once("exit", resolve));
}
