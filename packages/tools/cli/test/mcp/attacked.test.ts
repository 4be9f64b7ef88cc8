import { withThread } from "@stratigraph/service";
import { Annotation, END, interrupt, START, StateGraph } from "@langchain/langgraph";
import { MemorySaver, MemoryTier, TierSaver } from "@stratigraph/core";
import { FaultyTier } from "@stratigraph/testing";
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

test("a node's second question is open after the first was answered, and gets an answer of its own", async () => {
  const twice = new StateGraph(State)
    .addNode("ask", () => ({ answer: [interrupt("one?"), interrupt("two?")] }))
    .addEdge(START, "ask")
    .addEdge("ask", END)
    .compile({ checkpointer: saver });
  const on = { configurable: { thread_id: "twice" } };
  await twice.invoke({ note: "x" }, on);
  const asked: string[] = [];
  const client = await connected(
    createMcp({
      saver,
      allow: ["read", "write"],
      graphs: ["graph"],
      graph: () => Promise.resolve(twice as never),
    }),
    {
      person: ({ message }) => {
        asked.push(message);
        return { action: "accept", content: { answer: `answer ${asked.length}` } };
      },
    },
  );
  expect(await called(client, "answer", { thread: "twice" })).toMatchObject({ outcome: "interrupted" });
  expect(await called(client, "answer", { thread: "twice" })).toMatchObject({ outcome: "done" });
  expect(asked).toEqual([expect.stringContaining("one?"), expect.stringContaining("two?")]);
  expect((await twice.getState(on)).values).toMatchObject({ answer: ["answer 1", "answer 2"] });
  await client.close();
});

test("an answer of a client that sees some threads waits its turn, as all answers do", async () => {
  const graph = new StateGraph(State)
    .addNode("ask", () => ({ answer: interrupt("May I?") }))
    .addEdge(START, "ask")
    .compile({ checkpointer: saver });
  await graph.invoke({ note: "x" }, { configurable: { thread_id: "some/1" } });
  const tokens = [
    { name: "some", token: "some-0123456789abcdef", allow: ["read", "write"] as const, threads: ["some/"] },
  ];
  const shared = { saver, allow: ["read", "write"] as const, graphs: ["graph"], tokens };
  const client = await connected(createMcp({ ...shared, graph: () => Promise.resolve(graph as never) }), {
    bearer: "some-0123456789abcdef",
    person: () => ({ action: "accept", content: { answer: "yes" } }),
  });
  await withThread(saver, "some/1", async () => {
    expect(await refusal(client, "answer", { thread: "some/1" })).toContain("THREAD_BUSY");
  });
  expect(await called(client, "answer", { thread: "some/1" })).toMatchObject({ outcome: "done" });
  await client.close();
});

test("a question with a schema is a form of its fields, and no result tells what was filled in", async () => {
  const schema = {
    type: "object",
    properties: {
      price: { type: "number", minimum: 3, title: "Price", description: "In EUR" },
      by: { enum: ["rail", "air"] },
      seats: { type: "array", items: { enum: ["window", "aisle"] } },
      sure: { type: "boolean" },
      mail: { type: "string", format: "email" },
      to: { type: "object", properties: { city: { type: "string", pattern: "^R" } }, required: ["city"] },
      more: { type: "object", additionalProperties: { type: "number" } },
    },
    required: ["price", "by", "to"],
  };
  const asks = interrupt as (...given: unknown[]) => unknown;
  const form = (responseSchema: unknown, thread_id: string) => {
    const graph = new StateGraph(State)
      .addNode("ask", () => ({ answer: asks("Which trip?", { responseSchema }) }))
      .addEdge(START, "ask")
      .compile({ checkpointer: saver });
    return { graph, on: { configurable: { thread_id } } };
  };
  const cases = [
    form(schema, "form"),
    form({ type: "integer", minimum: 1 }, "one"),
    form({ type: "strin" }, "bad"),
  ];
  for (const { graph, on } of cases) await graph.invoke({ note: "x" }, on);
  const answersGiven: object[] = [];
  const asked: { message: string; requestedSchema?: { properties: Record<string, object> } }[] = [];
  const open = async (n: number) =>
    await connected(
      createMcp({
        saver,
        allow: ["read", "write"],
        graphs: ["graph"],
        graph: () => Promise.resolve(cases[n]!.graph as never),
      }),
      {
        person: (params) => {
          asked.push(params);
          return { action: "accept", content: answersGiven.shift()! };
        },
      },
    );
  const client = await open(0);
  const fits = {
    ...{ price: 4.5, by: '"air"', seats: ['"aisle"'], sure: false, mail: "" },
    ...{ "to/city": "Rome", more: '{"a":1}' },
  };
  for (const [wrong, told] of [
    [{ ...fits, "to/city": "secret" }, "to/city: Expected: matching ^R."],
    [{ ...fits, more: '{"a":"secret"}' }, "ask/more/a: expected number"],
    [{ ...fits, more: "secret" }, "more: This isn’t JSON yet"],
  ] as const) {
    answersGiven.push(wrong);
    const said = await refusal(client, "answer", { thread: "form" });
    expect(said).toContain(told);
    expect(said).not.toContain("secret");
  }
  expect(asked[0]!.requestedSchema!.properties).toMatchObject({
    price: { type: "number", title: "Price", description: "In EUR; a number, at least 3", minimum: 3 },
    by: { type: "string", oneOf: [{ const: '"rail"', title: "rail" }, {}] },
    seats: { type: "array", items: { anyOf: [{ const: '"window"' }, {}] } },
    sure: { type: "boolean" },
    mail: { type: "string", format: "email" },
    "to/city": { type: "string", description: "matching ^R" },
    more: { type: "string", description: "JSON, object" },
  });
  answersGiven.push(fits);
  expect(await called(client, "answer", { thread: "form" })).toMatchObject({ outcome: "done" });
  expect((await cases[0]!.graph.getState(cases[0]!.on)).values).toMatchObject({
    answer: { price: 4.5, by: "air", seats: ["aisle"], sure: false, to: { city: "Rome" }, more: { a: 1 } },
  });
  for (const [n, thread, given, answer] of [
    [1, "one", { answer: 5 }, 5],
    [2, "bad", { answer: '{"any":"json"}' }, { any: "json" }],
  ] as const) {
    const other = await open(n);
    answersGiven.push(given);
    expect(await called(other, "answer", { thread })).toMatchObject({ outcome: "done" });
    expect((await cases[n]!.graph.getState(cases[n]!.on)).values).toMatchObject({ answer });
    await other.close();
  }
  expect(asked.at(-1)!.message).toContain("Its schema can't be used");
  await client.close();
});

test("a model can't step over the node that asks", async () => {
  const client = await connected(createMcp({ saver, allow: ["read", "write"], tools: ["fork", "set"] }));
  for (const [tool, args] of [
    ["fork", { at: "asks", to: ["asks-2"], channel: "answer", value: '"yes"', create: true, asNode: "ask" }],
    ["set", { at: "asks", channel: "answer", value: '"yes"', asNode: "ask" }],
  ] as const)
    expect(await refusal(client, tool, args)).toContain("only a person answers");
  await client.close();
});

test("one client's calls keep no other client out", async () => {
  const tier = new FaultyTier(new MemoryTier());
  const tokens = ["a", "b"].map((name) => ({ name, token: `${name}-0123456789abcdef` }));
  const mcp = createMcp({ saver: new TierSaver(tier), tokens });
  const [greedy, other] = await Promise.all(tokens.map(({ token }) => connected(mcp, { bearer: token })));
  const holds = Array.from({ length: 8 }, () => tier.hold("threads"));
  const calls = holds.map(async () => await called(greedy!, "threads"));
  await Promise.all(holds.map(({ reached }) => reached));
  expect(await refusal(greedy!, "threads")).toContain("OVERLOADED: 8 operations are under way");
  expect(await called(other!, "threads")).toMatchObject({ items: [] });
  for (const hold of holds) hold.release();
  await Promise.all(calls);
  await Promise.all([greedy!.close(), other!.close()]);
});

test("bad names of workspaces and agents are told as such", async () => {
  const mcp = createMcp({ saver });
  const ask = async (agent: string, workspace: string) => {
    const url = `http://127.0.0.1/mcp?agent=${encodeURIComponent(agent)}`;
    const response = await mcp.fetch(
      new Request(url, { method: "POST", body: "{}", headers: { host: "127.0.0.1" } }),
      {
        trusted: true,
        workspace,
      },
    );
    return [response.status, ((await response.json()) as { error: { message: string } }).error.message];
  };
  expect(await ask("ada", "n".repeat(600))).toEqual([400, expect.stringContaining("name")]);
  expect(await ask("\0", "team")).toEqual([400, expect.stringContaining("agent")]);
});
