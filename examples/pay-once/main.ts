/**
 * An agent books a trip in ten steps. The tenth fails: it writes the itinerary into a folder that isn't there. The path is corrected and the
 * run goes on: nothing is searched, paid or mailed again. Then the whole run is repeated from its beginning, with a model that is asked
 * anew, and still nothing happens twice. At last it is replayed from the exported trail, on a machine that can reach none of the services.
 */
import { strict as assert } from "node:assert";
import { createReadStream, existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { AIMessage } from "@langchain/core/messages";
import { tool } from "@langchain/core/tools";
import { Annotation, END, MessagesAnnotation, START, StateGraph } from "@langchain/langgraph";
import { ToolNode } from "@langchain/langgraph/prebuilt";
import { createJournal, currentCall, replayTrail, type Journal, type Replay } from "@stratigraph/journal";
import { createCheckpointer } from "stratigraph";
import { z } from "zod";

const folder = mkdtempSync(join(tmpdir(), "pay-once-"));
const config = { configurable: { thread_id: "trip to Lisbon" } };

/** What the services outside saw, in the order in which they saw it. */
const outside: string[] = [];
let online = true;

function reach(service: string, what: string): string {
  assert(online, `${service} was called, although the machine is offline`);
  outside.push(`${service}: ${what}`);
  return `${service} ok: ${what}`;
}

/** The tools. @param path where the itinerary goes */
function toolsFor(path: string) {
  const text = z.object({ what: z.string() });
  const search = tool(({ what }) => reach("search", what), {
    name: "search",
    description: "Searches",
    schema: text,
  });
  const pay = tool(({ what }) => reach("bank", what), { name: "pay", description: "Pays", schema: text });
  const mail = tool(
    ({ what }) => reach("mail", `${what} (key ${currentCall()!.idempotencyKey.slice(0, 8)})`),
    {
      name: "mail",
      description: "Sends a mail; the service drops one with a key that it has seen",
      schema: text,
    },
  );
  const write = tool(
    ({ what }) => {
      writeFileSync(path, what);
      return "written";
    },
    { name: "write", description: "Writes the itinerary", schema: text },
  );
  return [search, pay, mail, write];
}

const plan = [
  ["search", "flights to Lisbon"],
  ["search", "hotels in Lisbon"],
  ["pay", "180 EUR for the flight"],
  ["pay", "320 EUR for the hotel"],
  ["mail", "the tickets to Ada"],
  ["search", "restaurants in Alfama"],
  ["pay", "20 EUR deposit for a table"],
  ["mail", "the table to Ada"],
  ["mail", "the bill to accounting"],
  ["write", "Lisbon, 12 to 14 May"],
] as const;

let asked = 0;

/** The agent, on a journal or on a replay of one. */
function agent(calls: Journal | Replay, path: string, checkpointer?: Journal["checkpointer"]) {
  // #region tools
  const tools = calls.tools(toolsFor(path), {
    search: "none",
    pay: "once",
    mail: "idempotent",
    // No such folder: the file certainly wasn't written.
    write: { effects: "once", certain: (error) => (error as { code?: string }).code === "ENOENT" },
  });
  // #endregion
  return new StateGraph(Annotation.Root({ ...MessagesAnnotation.spec, ...calls.channel }))
    .addNode("model", (state) => {
      asked += 1;
      const step = plan[state.messages.filter((message) => message.getType() === "ai").length];
      const call = step && {
        name: step[0],
        args: { what: step[1] },
        id: crypto.randomUUID(),
        type: "tool_call" as const,
      };
      const message = new AIMessage({
        content: call ? "" : "Have a good trip!",
        tool_calls: call ? [call] : [],
      });
      // #region next
      return { messages: [message], ...calls.next(state, message) };
      // #endregion
    })
    .addNode("tools", new ToolNode(tools, { handleToolErrors: false }))
    .addEdge(START, "model")
    .addConditionalEdges("model", ({ messages }) =>
      ((messages.at(-1) as AIMessage).tool_calls?.length ?? 0) > 0 ? "tools" : END,
    )
    .addEdge("tools", "model")
    .compile(checkpointer === undefined ? {} : { checkpointer });
}

const input = { messages: [{ role: "user", content: "Book me a weekend in Lisbon." }] };
const wrong = join(folder, "no such folder", "itinerary.txt");
const right = join(folder, "itinerary.txt");
const trail = join(folder, "trail.jsonl");

try {
  console.log("The first run, with the wrong path:");
  {
    await using checkpointer = await createCheckpointer({ pglite: join(folder, "db") });
    await using journal = createJournal(checkpointer);
    await assert.rejects(agent(journal, wrong, checkpointer).invoke(input, config), { code: "ENOENT" });
    for (const line of outside) console.log(`  ${line}`);
    console.log("  … and step 10 failed: there is no such folder.");
    assert.equal(outside.length, 9);
  }

  console.log("\nThe path is corrected, and a new process goes on:");
  {
    await using checkpointer = await createCheckpointer({ pglite: join(folder, "db") });
    await using journal = createJournal(checkpointer);
    const { messages } = await agent(journal, right, checkpointer).invoke(null, config);
    assert.equal(messages.at(-1)?.content, "Have a good trip!");
    assert(existsSync(right));
    assert.equal(outside.length, 9);
    console.log("  the itinerary is written; nothing was searched, paid or mailed again.");
  }

  console.log("\nSomebody starts it all over, from the first checkpoint:");
  {
    await using checkpointer = await createCheckpointer({ pglite: join(folder, "db") });
    await using journal = createJournal(checkpointer);
    const graph = agent(journal, right, checkpointer);
    let first = config as Parameters<typeof graph.invoke>[1];
    for await (const state of graph.getStateHistory(config))
      if (state.next.includes("model")) first = state.config;
    asked = 0;
    const { messages } = await graph.invoke(null, first);
    assert.equal(messages.at(-1)?.content, "Have a good trip!");
    assert.equal(outside.length, 9);
    console.log(
      `  the model was asked ${asked} times, and its ${plan.length} calls got the recorded results.`,
    );
    await journal.export("trip to Lisbon", trail);
  }

  console.log("\nThe incident is replayed from the trail, offline and without the database:");
  {
    online = false;
    // #region replay
    const replay = await replayTrail(createReadStream(trail));
    const run = () => agent(replay, wrong).invoke(input, { recursionLimit: 50 });
    const { messages } = await replay.follow(run);
    // #endregion
    assert.equal(messages.at(-1)?.content, "Have a good trip!");
    assert.deepEqual(new Set(replay.calls.map(({ outcome }) => outcome)), new Set(["recorded"]));
    console.log(`  ${replay.calls.length} calls, all from the recording; none ran.`);

    const changed = await replayTrail(createReadStream(trail));
    const judged = await changed.judge(({ tool: name, args }) =>
      name === "pay" && Number.parseInt((args as { what: string }).what, 10) > 200
        ? { deny: "over 200 EUR" }
        : true,
    );
    const denied = judged.filter(({ now }) => now === "denied");
    assert.equal(denied.length, 1);
    console.log(`  With a limit of 200 EUR, this would be denied: ${JSON.stringify(denied[0]!.args)}`);
  }
} finally {
  rmSync(folder, { recursive: true, force: true });
}
