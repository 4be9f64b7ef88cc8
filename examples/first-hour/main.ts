/**
 * The first hour: an agent on the default storage is looked at in the terminal, moves to PostgreSQL, gets the threads of the official
 * saver, is forked, verified, damaged and repaired. Every step asserts what it shows. `UPDATE=1` writes the transcript into
 * docs/first-hour.md.
 */
import { strict as assert } from "node:assert";
import { mkdtempSync, realpathSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { MessagesAnnotation, START, StateGraph } from "@langchain/langgraph";
import type { BaseCheckpointSaver } from "@langchain/langgraph-checkpoint";
import { PostgresSaver as OfficialSaver } from "@langchain/langgraph-checkpoint-postgres";
import { createCheckpointer } from "stratigraph";
import { query, startPostgres } from "../../test/servers/postgres.ts";
import { Transcript } from "./transcript.ts";

const project = realpathSync(mkdtempSync(join(tmpdir(), "first-hour-")));
symlinkSync(join(import.meta.dirname, "node_modules"), join(project, "node_modules"));
process.chdir(project);
const server = await startPostgres({ fsync: true });
const transcript = new Transcript(project, { [server.url]: "postgresql://localhost/agents" });

/** Runs one turn of the agent on a thread, and returns how many messages the thread then has. */
async function turn(checkpointer: BaseCheckpointSaver, thread: string, text: string): Promise<number> {
  const graph = new StateGraph(MessagesAnnotation)
    .addNode("agent", ({ messages }) => ({
      messages: [{ role: "assistant", content: `Message ${messages.length} was read.` }],
    }))
    .addEdge(START, "agent")
    .compile({ checkpointer });
  const { messages } = await graph.invoke(
    { messages: [{ role: "user", content: text }] },
    { configurable: { thread_id: thread } },
  );
  return messages.length;
}

try {
  transcript.say(
    'The program of the [quick start](../README.md), with `createCheckpointer()` in place of `createCheckpointer({ pglite: ".stratigraph" })`: ' +
      "without an argument it opens what stratigraph.config.json names, and the folder .stratigraph where there is none. It ran twice, the " +
      'second time with the message "What did I say?". Did it store anything?',
  );
  {
    await using checkpointer = await createCheckpointer();
    for (const text of ["Hello!", "What did I say?"]) await turn(checkpointer, "ada", text);
  }
  assert.match((await transcript.run("threads")).stdout, /^ada /m);
  const history = await transcript.run("history ada");
  assert.match(history.stdout, /agent .* head$/m);
  assert.equal(history.stdout.trim().split("\n").length, 7);
  assert.match((await transcript.run("show ada")).stdout, /What did I say\?/);
  await transcript.run("diff ada@step:1 ada", 2);

  transcript.say(
    "It moves to PostgreSQL. Write stratigraph.config.json: it tells the application, which isn't changed, and the commands where to go on.",
  );
  await transcript.run(`move ${server.url}`);
  transcript.write("stratigraph.config.json", { checkpointer: { postgres: server.url } });
  await transcript.run("doctor");
  {
    await using checkpointer = await createCheckpointer();
    assert.equal(await turn(checkpointer, "ada", "Still there?"), 6);
  }

  transcript.say("Threads of the official PostgresSaver come over, counted and compared.");
  const official = OfficialSaver.fromConnString(server.url);
  await official.setup();
  for (const thread of ["bob", "cleo"]) await turn(official, thread, "I was here before.");
  const imported = await transcript.run(`import official+${server.url}`);
  assert.match(imported.stdout, /2 threads/);
  {
    await using checkpointer = await createCheckpointer();
    assert.equal(await turn(checkpointer, "bob", "Where am I?"), 4);
  }
  await official.end();

  transcript.say("Try another way without touching the thread.");
  await transcript.run("fork ada@step:4 ada-what-if");
  await transcript.run("history ada");
  assert.match((await transcript.run("compare ada ada-what-if")).stdout, /ada-what-if/);

  transcript.say("Is everything whole?");
  assert.match((await transcript.run("verify")).stdout, /Nothing wrong/);

  transcript.say("A row goes bad (here by hand). It is found, and repaired.");
  await query(
    server.url,
    `update stratigraph.checkpoints c set body = set_byte(body, 12, get_byte(body, 12) # 255)
     from stratigraph.heads h join stratigraph.threads t using (thread)
     where t.key = '\\x02616461' and h.thread = c.thread and h.ns = c.ns and h.id = c.id`,
  );
  const report = await transcript.run("verify -o json", 2, "report.json");
  assert.equal((JSON.parse(report.stdout) as { findings: unknown[] }).findings.length, 1);
  await transcript.run("verify", 2);
  await transcript.run("repair --report @report.json");
  // The head is on whole ground again; what can't be read stays, on a side branch, until it is removed.
  await transcript.run("repair --report @report.json --apply --yes", 2);
  await transcript.run("repair ada --apply --prune --yes");
  assert.match((await transcript.run("verify")).stdout, /Nothing wrong/);
  {
    await using checkpointer = await createCheckpointer();
    for (const thread of ["ada", "bob", "cleo"])
      assert.ok((await turn(checkpointer, thread, "And on we go.")) >= 4);
  }
  await transcript.end(join(import.meta.dirname, "../../docs/first-hour.md"));
} finally {
  process.chdir(tmpdir());
  await server.stop();
  rmSync(project, { recursive: true, force: true });
}
