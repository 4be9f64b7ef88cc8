import { Annotation, END, interrupt, START, StateGraph } from "@langchain/langgraph";
import { MemorySaver } from "@stratigraph/core";
import { createWorkspace } from "@stratigraph/workspace";
import { expect, test } from "vitest";
import { createMcp } from "../../src/mcp/index.ts";
import { called, connected, refusal } from "./support/connected.ts";

const saver = new MemorySaver();
const State = Annotation.Root({ note: Annotation<string>(), answer: Annotation<unknown>() });
const graph = new StateGraph(State)
  .addNode("ask", () => ({ answer: interrupt("May I pay?") }))
  .addEdge(START, "ask")
  .addEdge("ask", END)
  .compile({ checkpointer: saver });

test("a model can't answer for the person by an input that stands for a Command", async () => {
  const on = { configurable: { thread_id: "asks" } };
  await graph.invoke({ note: "x" }, on);
  const mcp = createMcp({
    saver,
    allow: ["read", "write"],
    graphs: ["graph"],
    graph: () => Promise.resolve(graph as never),
  });
  const client = await connected(mcp);
  for (const smuggled of [{ resume: "yes" }, { update: [["__resume__", "yes"]] }, { goto: ["__end__"] }]) {
    const input = JSON.stringify({ lc: 2, type: "sg:Command", lg_name: "Command", ...smuggled });
    expect(await refusal(client, "run", { at: "asks", input })).toContain("An answer is given by `resume`");
  }
  expect(await graph.getState(on)).toMatchObject({ values: { note: "x" }, next: ["ask"] });
  await client.close();
});

test("a token opens the workspaces and threads that it names, and nothing else", async () => {
  const on = { configurable: { thread_id: "acme/1" } };
  await graph.invoke({ note: "x" }, on);
  for (const name of ["team", "others"])
    await createWorkspace(saver, name, { agent: "boss" }).put(["shared"], "fact", { of: name });
  const given = { allow: ["read", "write"] as const, workspaces: ["team"] };
  const mcp = createMcp({
    saver,
    tools: ["threads", "show", "workspace-list", "workspace-items"],
    tokens: [
      { ...given, name: "both", token: "both-0123456789abcdef", threads: ["acme/"] },
      { ...given, name: "team", token: "team-0123456789abcdef" },
    ],
  });
  for (const bearer of ["both-0123456789abcdef", "team-0123456789abcdef"]) {
    const memory = await connected(mcp, { bearer, workspace: "team" });
    expect(await called(memory, "memory_search")).toMatchObject({ items: [{ value: { of: "team" } }] });
    const threads = await connected(mcp, { bearer });
    const own = bearer.startsWith("both") ? [{ thread: "acme/1" }] : [];
    expect((await called(threads, "threads")).items).toMatchObject(own);
    expect(await refusal(threads, "show", { at: "asks" })).toContain("ACCESS_DENIED");
    for (const name of ["workspace-list", "workspace-items"]) {
      const args = name === "workspace-list" ? {} : { workspace: "others" };
      expect(await refusal(threads, name, args)).not.toContain("fact");
    }
    await Promise.all([memory.close(), threads.close()]);
  }
});

test("a client that names too many workspaces is refused, and no other client", async () => {
  const tokens = ["many", "few"].map((name) => ({ name, token: `${name}-0123456789abcdef` }));
  const mcp = createMcp({ saver, tokens });
  const status = async (name: string, workspace: string): Promise<number> => {
    const headers = { host: "127.0.0.1", authorization: `Bearer ${name}-0123456789abcdef` };
    return (await mcp.fetch(new Request("http://127.0.0.1/mcp", { headers }), { workspace })).status;
  };
  for (let n = 0; n < 1000; n += 1) await status("many", `w${n}`);
  expect(await status("many", "w1000")).toBe(503);
  expect(await status("few", "w0")).not.toBe(503);
  await mcp.end();
});
