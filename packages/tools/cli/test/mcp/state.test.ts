// long file: what clients may do with threads, story by story, on one storage
import { Annotation, END, interrupt, START, StateGraph } from "@langchain/langgraph";
import { HumanMessage } from "@langchain/core/messages";
import { MemorySaver, MemoryTier, TierSaver } from "@stratigraph/core";
import { PassThrough } from "node:stream";
import { createInterface } from "node:readline";
import { createJournal } from "@stratigraph/journal";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { agentOf, asks, payments, pays, says } from "../../../../features/journal/test/support/effects.ts";
import { createMcp, type McpAudit, type McpOptions } from "../../src/mcp/index.ts";
import { Idle } from "../../src/mcp/idle.ts";
import { operations } from "../../src/operations/index.ts";
import { Running } from "../../src/serving/running.ts";
import { called, connected, readJson, refusal } from "./support/connected.ts";

const strange = `a/../"b' \u202e😀%2F?#`;
const secret = "the safe's number is 4711";
const saver = new MemorySaver();
const audit: McpAudit[] = [];
const token = (name: string) => `${name}-0123456789abcdef`;

const State = Annotation.Root({
  note: Annotation<string>(),
  list: Annotation<string[]>(),
  secret: Annotation<string>(),
  answer: Annotation<unknown>(),
});
const graph = new StateGraph(State)
  .addNode("write", ({ note }) => ({ list: [note, "x".repeat(40_000), "end"] }))
  .addNode("ask", ({ note }) => (note === "ask" ? { answer: interrupt("May I?") } : {}))
  .addEdge(START, "write")
  .addEdge("write", "ask")
  .addEdge("ask", END)
  .compile({ checkpointer: saver });

const on = (thread_id: string) => ({ configurable: { thread_id } });

function serve(options: Partial<McpOptions> = {}) {
  return createMcp({ saver, audit: (entry) => void audit.push(entry), ...options });
}

beforeAll(async () => {
  for (const id of ["acme/1", "acme/2", "other", strange, ".."])
    await graph.invoke({ note: id, secret }, on(id));
});

describe("a client that may only read", () => {
  const mcp = serve({ graphs: ["graph"] });
  const client = connected(mcp);
  afterAll(async () => (await client).close());

  test("finds twelve tools, in the order of the table, that say that they change nothing", async () => {
    const { tools } = await (await client).listTools();
    const names = tools.map(({ name }) => name);
    expect(names).toEqual(operations.map(({ name }) => name).filter((name) => names.includes(name)));
    expect(names.toSorted()).toEqual([
      "blame",
      "calls",
      "diff",
      "history",
      "inbox",
      "questions",
      "show",
      "stats",
      "threads",
      "verify",
      "why",
      "writes",
    ]);
    for (const { annotations, outputSchema, description } of tools) {
      expect(annotations).toMatchObject({ readOnlyHint: true, destructiveHint: false });
      expect(outputSchema).toMatchObject({ type: "object", properties: expect.anything() });
      expect(description).toMatch(/\.$/);
    }
    // Each conversation begins with them: some ten thousand tokens.
    expect(JSON.stringify(tools).length).toBeLessThan(45_000);
  });

  test("gets what the operations answer, as data and as text", async () => {
    const result = await (await client).callTool({ name: "threads", arguments: { order: "oldest" } });
    const { items } = result.structuredContent as { items: { thread: string }[] };
    expect(items.map(({ thread }) => thread)).toEqual(["acme/1", "acme/2", "other", strange, ".."]);
    expect(JSON.parse((result.content as unknown as [{ text: string }])[0].text)).toEqual(
      result.structuredContent,
    );
  });

  test("can't write, not even by a tool's name", async () => {
    await expect((await client).callTool({ name: "fork", arguments: { at: "other" } })).rejects.toThrow(
      "not found",
    );
    await expect(
      (await client).callTool({ name: "delete", arguments: { threads: ["other"] } }),
    ).rejects.toThrow("not found");
  });

  test("is told which field is wrong, and what to do", async () => {
    expect(await refusal(await client, "show", { at: "other", chanel: "list" })).toMatch(
      /^INVALID_OPTION: .*chanel: is unknown; show takes at, /,
    );
    expect(await refusal(await client, "history", { thread: "other", limit: 0 })).toContain(
      "limit: expected at least 1; found 0",
    );
    expect(await refusal(await client, "show", { at: "nobody" })).toBe(
      'NOT_FOUND: Thread "nobody" has no checkpoints. "threads" lists threads.',
    );
  });

  test("gets long values cut, with a link to the whole", async () => {
    const result = await (await client).callTool({ name: "show", arguments: { at: "other" } });
    expect(JSON.stringify(result.structuredContent).length).toBeLessThan(20_000);
    const [, link] = result.content as [unknown, { type: string; uri: string; size: number }];
    expect(link).toMatchObject({ type: "resource_link", size: expect.any(Number) });
    expect(await readJson(await client, link.uri)).toEqual(["other", "x".repeat(40_000), "end"]);
    expect(await readJson(await client, `${link.uri}?path=${encodeURIComponent("[-1]")}`)).toBe("end");
    await expect(readJson(await client, `${link.uri}?path=.nothing`)).rejects.toThrow("leads nowhere");
  });

  test("walks a history page by page, and misses nothing", async () => {
    const seen: string[] = [];
    let cursor: string | undefined;
    do {
      const page = await called(await client, "history", {
        thread: "other",
        limit: 1,
        ...(cursor && { cursor }),
      });
      seen.push(...page.items.map(({ checkpoint }: { checkpoint: string }) => checkpoint));
      ({ cursor } = page);
    } while (cursor !== undefined);
    expect(seen).toHaveLength(4);
    const all = await readJson(await client, "stratigraph://threads/other/history");
    expect(all.items.map(({ checkpoint }: { checkpoint: string }) => checkpoint)).toEqual(seen);
  });

  test("may keep a checkpoint, but not a head, and shares neither", async () => {
    const head = await (await client).readResource({ uri: "stratigraph://threads/other" });
    expect(head).toMatchObject({ ttlMs: 0, cacheScope: "private" });
    const { checkpoint } = await readJson(await client, "stratigraph://threads/other");
    const uri = `stratigraph://threads/other/checkpoints/${checkpoint}`;
    const read = async () => await (await client).readResource({ uri });
    const before = await read();
    expect(before).toMatchObject({ ttlMs: 86_400_000, cacheScope: "private" });
    await graph.updateState(on("other"), { answer: 1 });
    expect((await read()).contents).toEqual(before.contents);
    // This one keeps nothing from before.
    const another = await connected(mcp);
    expect((await another.readResource({ uri })).contents).toEqual(before.contents);
    await another.close();
  });

  test("reads threads of any name by the addresses that are listed", async () => {
    const { resources } = await (await client).listResources();
    for (const thread of [strange, ".."]) {
      const { uri } = resources.find(({ name }) => name === thread)!;
      expect(uri).toMatch(/^[\x21-\x7e]+$/);
      expect(await readJson(await client, uri)).toMatchObject({ thread });
      const { checkpoint } = await readJson(await client, uri);
      expect(await readJson(await client, `${uri}/checkpoints/${checkpoint}/channels/note`)).toBe(thread);
    }
  });

  test("is told that an address is wrong, and never gets another thread's data", async () => {
    const wrong = [
      "",
      "/",
      "/other/",
      "/other/x",
      "/other/checkpoints",
      "/other?x=1",
      "/other//channels/note",
      "/nobody",
      "/%F0",
      "other",
      "/acme/1",
    ];
    for (const rest of wrong)
      await expect(
        (await client).readResource({
          uri: `stratigraph://threads${rest}x`.slice(0, -1) + (rest === "" ? "?a" : ""),
        }),
      ).rejects.toMatchObject({ code: -32_602 });
    await expect((await client).readResource({ uri: "file:///etc/passwd" })).rejects.toMatchObject({
      code: -32_602,
    });
  });

  test("has ids completed", async () => {
    const complete = async (name: string, value: string, given = {}) =>
      (
        await (
          await client
        ).complete({
          ref: {
            type: "ref/resource",
            uri: "stratigraph://threads/{thread}/checkpoints/{checkpoint}{?namespace}",
          },
          argument: { name, value },
          context: { arguments: given },
        })
      ).completion.values;
    expect(await complete("thread", "ac")).toEqual(["acme/2", "acme/1"]);
    expect((await complete("checkpoint", "", { thread: "acme/1" })).length).toBe(4);
    expect(await complete("channel", "n", { thread: "acme/1" })).toEqual(["note"]);
    expect(await complete("checkpoint", "", { thread: "nobody" })).toEqual([]);
  });

  test("gets prompts with the facts in them", async () => {
    const { prompts } = await (await client).listPrompts();
    expect(prompts.map(({ name }) => name)).toEqual([
      "why_did_this_run_fail",
      "compare_two_branches",
      "prepare_a_what_if",
    ]);
    const get = async (name: string, args: Record<string, string>) =>
      JSON.stringify((await (await client).getPrompt({ name, arguments: args })).messages);
    expect(await get("why_did_this_run_fail", { thread: "acme/1" })).toContain("acme/1");
    expect(await get("compare_two_branches", { from: "acme/1", to: "acme/2" })).toContain("acme/2");
    expect(await get("prepare_a_what_if", { thread: "acme/1", question: "What if not?" })).toContain(
      "What if not?",
    );
    await expect(get("why_did_this_run_fail", { thread: "nobody" })).rejects.toThrow("NOT_FOUND");
  });
});

test("what is too long for a client is told, and read in parts", async () => {
  const long = "y".repeat(1_100_000);
  await graph.invoke({ note: long }, on("long"));
  const client = await connected(serve());
  expect(await refusal(client, "show", { at: "long", maxBytes: 5_000_000 })).toMatch(
    /^INVALID_OPTION: .*maxBytes.* A result may have 400000/,
  );
  const { checkpoint } = await called(client, "show", { at: "long" });
  const uri = `stratigraph://threads/long/checkpoints/${checkpoint}/channels/list`;
  await expect(client.readResource({ uri })).rejects.toThrow(
    /has 11400\d\d bytes, and 1000000 are read at once/,
  );
  expect(await readJson(client, `${uri}?path=%5B1%3A%5D`)).toEqual(["x".repeat(40_000), "end"]);
  // A page that is too long becomes a shorter one, and nothing is missed.
  const many = new MemorySaver();
  const stays = graph.withConfig({});
  stays.checkpointer = many;
  for (let n = 0; n < 12; n += 1) await stays.invoke({ note: "n" }, on(`${n} ${"z".repeat(50_000)}`));
  const whole = await connected(createMcp({ saver: many }));
  const seen: string[] = [];
  let cursor: string | undefined;
  do {
    const page = await called(whole, "threads", { limit: 1000, ...(cursor && { cursor }) });
    expect(JSON.stringify(page).length).toBeLessThan(400_000);
    seen.push(...page.items.map(({ thread }: { thread: string }) => thread.split(" ")[0]));
    ({ cursor } = page);
  } while (cursor !== undefined);
  expect(seen.toSorted()).toEqual(Array.from({ length: 12 }, (_, n) => String(n)).toSorted());
  await client.close();
  await whole.close();
});

test("what the config redacts is in no tool, resource, prompt or error", async () => {
  const client = await connected(serve({ redact: ["secret"] }));
  const { checkpoint } = await readJson(client, "stratigraph://threads/acme%2F1");
  const answers = [
    ...(await Promise.all(
      [
        ["show", { at: "acme/1" }],
        ["show", { at: "acme/1", channel: "secret" }],
        ["writes", { at: "acme/1@step:-1" }],
        ["diff", { from: "acme/1@step:-1", to: "acme/1" }],
        ["blame", { at: "acme/1", path: "secret" }],
        ["verify", {}],
        ["stats", {}],
      ].map(
        async ([name, args]) =>
          await client.callTool({ name: name as string, arguments: args as object as never }),
      ),
    )),
    await client.readResource({ uri: `stratigraph://threads/acme%2F1/checkpoints/${checkpoint}` }),
    await client
      .readResource({ uri: `stratigraph://threads/acme%2F1/checkpoints/${checkpoint}/channels/secret` })
      .catch(String),
    await client.getPrompt({ name: "why_did_this_run_fail", arguments: { thread: "acme/1" } }),
    await client.getPrompt({
      name: "compare_two_branches",
      arguments: { from: "acme/1@step:-1", to: "acme/1" },
    }),
  ];
  expect(answers).toHaveLength(11);
  expect(JSON.stringify(answers)).not.toContain("4711");
  await client.close();
});

describe("a token for some threads", () => {
  const mcp = serve({
    allow: ["read", "write"],
    graphs: ["graph"],
    graph: () => Promise.resolve(graph as never),
    tokens: [
      { name: "acme", token: token("acme"), allow: ["read", "write"], threads: ["acme/"] },
      { name: "looker", token: token("looker") },
    ],
  });
  const client = connected(mcp, { bearer: token("acme") });
  afterAll(async () => (await client).close());

  test("lists, counts, verifies, completes and subscribes to no others", async () => {
    const acme = await client;
    const { items } = await called(acme, "threads");
    expect(items.map(({ thread }: { thread: string }) => thread)).toEqual(["acme/2", "acme/1"]);
    expect((await called(acme, "verify")).totals).toMatchObject({ threads: 2 });
    expect((await called(acme, "questions")).threads).toBe(2);
    const { resources } = await acme.listResources();
    expect(resources.map(({ name }) => name)).toEqual(["threads", "acme/2", "acme/1"]);
    const ref = { type: "ref/resource" as const, uri: "stratigraph://threads/{thread}" };
    expect(
      (await acme.complete({ ref, argument: { name: "thread", value: "o" } })).completion.values,
    ).toEqual([]);
  });

  test("opens no others by any field, address or prompt", async () => {
    const acme = await client;
    for (const [name, args] of [
      ["show", { at: "other" }],
      ["show", { at: "other", checkpoint: "x" }],
      ["history", { thread: "other" }],
      ["diff", { from: "acme/1", to: "other" }],
      ["verify", { threads: ["acme/1", "other"] }],
      ["calls", { thread: "other" }],
      ["fork", { at: "acme/1", to: ["other-2"] }],
      ["fork", { at: "other", to: ["acme/3"] }],
      ["merge", { thread: "acme/1", from: ["other"] }],
      ["run", { at: "other" }],
      ["run", { at: "new", create: true, input: "{}" }],
      ["promote", { at: "other@head~1" }],
      ["answer", { thread: "other" }],
    ] as const)
      expect(await refusal(acme, name, args), name).toMatch(/^ACCESS_DENIED: .*begin with "acme\/"/);
    await expect(acme.readResource({ uri: "stratigraph://threads/other" })).rejects.toThrow("ACCESS_DENIED");
    await expect(
      acme.getPrompt({ name: "compare_two_branches", arguments: { from: "acme/1", to: "other" } }),
    ).rejects.toThrow("ACCESS_DENIED");
    expect((await saver.listThreads({})).threads.map(({ threadId }) => threadId)).not.toContain("acme/3");
  });

  test("works in its own: a fork, its name, and what it came from", async () => {
    const acme = await client;
    // The name that a fork gets by itself isn't one of theirs.
    expect(await refusal(acme, "fork", { at: "acme/1@head~1" })).toContain('begin with "acme/"');
    await called(acme, "fork", { at: "acme/1@head~1", to: ["acme/1-b"] });
    expect(await called(acme, "history", { thread: "acme/1-b" })).toMatchObject({
      origin: { thread: "acme/1" },
    });
    expect((await called(acme, "threads")).items).toHaveLength(3);
  });

  test("a token without rights only looks, whatever the server allows", async () => {
    const looker = await connected(mcp, { bearer: token("looker") });
    expect((await looker.listTools()).tools.every(({ annotations }) => annotations!.readOnlyHint)).toBe(true);
    expect((await called(looker, "threads")).items.length).toBeGreaterThan(3);
    await looker.close();
  });

  test("a merge can't read a fork's source outside, though the lineage leads there", async () => {
    await graph.invoke({ note: "x" }, on("outside"));
    const all = await connected(mcp);
    await called(all, "fork", { at: "outside", to: ["acme/from-outside"] });
    const acme = await client;
    expect(JSON.stringify(await called(acme, "history", { thread: "acme/from-outside" }))).not.toContain(
      secret,
    );
    expect(await called(acme, "show", { at: "acme/from-outside" })).toMatchObject({
      thread: "acme/from-outside",
    });
    await all.close();
  });
});

test("a workspace is served to those who may use it, each under the name of its token, without what is redacted", async () => {
  const mcp = serve({
    allow: ["read", "write"],
    redact: ["workspaces.team.shared.staff.*.salary"],
    tokens: [
      { name: "ada", token: token("ada"), allow: ["read", "write"], workspaces: ["team"] },
      { name: "bob", token: token("bob"), threads: ["acme/"] },
      { name: "cleo", token: token("cleo"), threads: ["acme/"], workspaces: ["team"] },
    ],
  });
  const workspace = "team";
  const ada = await connected(mcp, { bearer: token("ada"), workspace });
  await called(ada, "memory_put", { namespace: ["shared"], key: "fact", value: { n: 1 } });
  await called(ada, "memory_put", {
    namespace: ["shared", "staff"],
    key: "eve",
    value: { name: "Eve", salary: 4711 },
  });
  expect((await called(ada, "memory_get", { namespace: ["shared"], key: "fact" })).item).toMatchObject({
    value: { n: 1 },
    author: { agent: "ada" },
  });
  expect(await refusal(ada, "memory_put", { namespace: ["agents", "bob"], key: "x", value: {} })).toMatch(
    /^ACCESS_DENIED: /,
  );
  const at = { namespace: ["shared", "staff"], key: "eve" };
  const told = [
    await called(ada, "memory_get", at),
    await called(ada, "memory_search", { prefix: ["shared"] }),
    await called(ada, "memory_since"),
    await called(ada, "memory_put", { ...at, value: {}, ifVersion: 0 }),
  ];
  expect(JSON.stringify(told)).toContain("eve");
  expect(JSON.stringify(told)).not.toContain("4711");
  expect((await called(ada, "memory_search", { filter: { salary: 4711 } })).items).toEqual([]);
  expect((await called(ada, "memory_search", { filter: { n: 1 } })).items).toHaveLength(1);
  await ada.close();
  await expect(connected(mcp, { bearer: token("ada"), workspace: "others" })).rejects.toThrow("HTTP 403");
  await expect(connected(mcp, { bearer: token("bob"), workspace })).rejects.toThrow("HTTP 403");
  await expect(connected(mcp, { workspace })).rejects.toThrow("server/discover");
  const cleo = await connected(mcp, { bearer: token("cleo"), workspace });
  expect((await called(cleo, "memory_get", { namespace: ["shared"], key: "fact" })).item.value).toEqual({
    n: 1,
  });
  expect((await cleo.listTools()).tools).toHaveLength(3);
  await cleo.close();
  const trusted = await connected(mcp, { workspace, path: "/mcp?agent=carl" });
  await called(trusted, "memory_put", { namespace: ["agents", "carl"], key: "x", value: {} });
  await trusted.close();
});

test("who has no token, a wrong one, or comes from elsewhere, is refused", async () => {
  const mcp = serve({ tokens: [{ name: "a", token: token("a") }] });
  const post = async (headers: Record<string, string>, body = "{}") =>
    await mcp.fetch(
      new Request("http://127.0.0.1/mcp", {
        method: "POST",
        headers: {
          host: "127.0.0.1",
          "content-type": "application/json",
          accept: "application/json, text/event-stream",
          ...headers,
        },
        body,
      }),
    );
  for (const given of [
    {},
    { authorization: "Bearer no" },
    { authorization: token("a") },
    { authorization: `Basic ${token("a")}` },
  ]) {
    const response = await post(given);
    expect([response.status, response.headers.get("www-authenticate")]).toEqual([401, "Bearer"]);
    expect(await response.json()).toMatchObject({ error: { data: { code: "ACCESS_DENIED" } } });
  }
  const authorization = `bearer ${token("a")}`;
  expect((await post({ authorization, host: "evil.example" })).status).toBe(403);
  expect((await post({ authorization, origin: "https://evil.example" })).status).toBe(403);
  expect((await post({ authorization, "content-length": "99999999" })).status).toBe(413);
  expect((await post({ authorization }, "{")).status).toBe(400);
});

test("each call leaves an entry without values, and a call whose entry can't be written fails", async () => {
  audit.length = 0;
  const client = await connected(serve());
  await called(client, "show", { at: "acme/1", channel: "note" });
  await refusal(client, "show", { at: "nobody" });
  await client.readResource({ uri: "stratigraph://threads/acme%2F1" });
  await client.getPrompt({ name: "why_did_this_run_fail", arguments: { thread: "acme/1" } });
  expect(audit).toMatchObject([
    { client: "trusted", asked: "show", about: ["acme/1"], outcome: "ok" },
    { asked: "show", about: ["nobody"], outcome: "NOT_FOUND" },
    { asked: "resources/read", about: ["stratigraph://threads/acme%2F1"], outcome: "ok" },
    { asked: "prompt why_did_this_run_fail", about: ["acme/1"], outcome: "ok" },
  ]);
  await client.close();
  const full = await connected(serve({ audit: () => Promise.reject(new Error("the disk is full")) }));
  expect(await refusal(full, "threads")).toMatch(
    /carried out \(ok\), but its audit entry can't be written: the disk is full/,
  );
  await full.close();
});

describe("a client that may write", () => {
  const options = {
    allow: ["read", "write", "destroy"],
    graphs: ["graph"],
    graph: () => Promise.resolve(graph as never),
  } as const;

  test("gets fifteen tools at most, and which ones is its server's to say", async () => {
    const client = await connected(serve(options));
    const { tools } = await client.listTools();
    expect(tools).toHaveLength(15);
    expect(tools.filter(({ annotations }) => !annotations!.readOnlyHint).map(({ name }) => name)).toEqual([
      "fork",
      "merge",
      "promote",
      "run",
      "answer",
    ]);
    await client.close();
    const named = await connected(serve({ ...options, tools: ["delete", "threads", "stats"] }));
    expect((await named.listTools()).tools.map(({ name }) => name)).toEqual(["threads", "stats", "delete"]);
    await named.close();
    expect(() => serve({ tools: ["nothing"] })).toThrow("There is no such operation");
    expect(() => serve({ tools: Array.from({ length: 16 }, () => "threads") })).toThrow("15 at most");
    expect(() => serve({ tools: ["export"] })).toThrow("There is no such operation");
  });

  test("destroys nothing unless it says so", async () => {
    await graph.invoke({ note: "x" }, on("doomed"));
    const client = await connected(serve({ ...options, tools: ["delete"] }));
    const [tool] = (await client.listTools()).tools;
    expect(tool).toMatchObject({
      annotations: { destructiveHint: true },
      inputSchema: { properties: { dryRun: { default: true } } },
    });
    await called(client, "delete", { thread: "doomed" });
    expect((await saver.listThreads({})).threads.map(({ threadId }) => threadId)).toContain("doomed");
    await called(client, "delete", { thread: "doomed", dryRun: false });
    expect((await saver.listThreads({})).threads.map(({ threadId }) => threadId)).not.toContain("doomed");
    await client.close();
  });

  test("tries a change in a fork, and plans a merge before it merges", async () => {
    const client = await connected(serve(options));
    const what = await called(client, "fork", {
      at: "acme/2",
      whatIf: true,
      channel: "note",
      value: '"changed"',
    });
    const thread = what.items[0].thread as string;
    const plan = await called(client, "merge", { thread: "acme/2", from: [thread], dryRun: true });
    expect(plan).toMatchObject({ thread: "acme/2" });
    const merged = await called(client, "merge", { thread: "acme/2", from: [thread], seen: plan.seen });
    expect(["merged", "fast-forward"]).toContain(merged.status);
    expect((await graph.getState(on("acme/2"))).values).toMatchObject({ note: "changed" });
    await client.close();
  });

  test("has a person answer: the answer reaches the thread, and no result of a tool has it", async () => {
    await graph.invoke({ note: "ask" }, on("asking"));
    const asked: string[] = [];
    const word = "yes, but only at night";
    const client = await connected(serve({ ...options, redact: ["answer"] }), {
      person: ({ message }) => {
        asked.push(message);
        return { action: "accept", content: { answer: word } };
      },
    });
    expect(await refusal(client, "run", { at: "asking", resume: '"made up"' })).toContain(
      "only a person answers",
    );
    const result = await client.callTool({ name: "answer", arguments: { thread: "asking" } });
    expect(result.structuredContent).toMatchObject({
      kind: "interrupt",
      answered: true,
      outcome: "done",
      next: [],
    });
    expect(JSON.stringify(result)).not.toContain("night");
    expect(asked).toEqual([expect.stringContaining("May I?")]);
    expect((await graph.getState(on("asking"))).values).toMatchObject({ answer: word });
    expect(await refusal(client, "answer", { thread: "asking" })).toContain("No question is open");
    await client.close();
  });

  test("hears that the person declined, or that there is nobody to ask", async () => {
    await graph.invoke({ note: "ask" }, on("waiting"));
    const declining = await connected(serve(options), { person: () => ({ action: "decline" }) });
    expect(await called(declining, "answer", { thread: "waiting" })).toMatchObject({ answered: false });
    await declining.close();
    const alone = await connected(serve(options));
    expect(await refusal(alone, "answer", { thread: "waiting" })).toContain("This client can't ask a person");
    await alone.close();
    expect((await graph.getState(on("waiting"))).next).toEqual(["ask"]);
  });

  test("an answer to another question isn't taken for one to this", async () => {
    await graph.invoke({ note: "ask" }, on("newer"));
    const mcp = serve(options);
    const send = async (key: string) => {
      const params = {
        name: "answer",
        arguments: { thread: "newer" },
        inputResponses: { [key]: { action: "accept", content: { answer: "old" } } },
        _meta: {
          "io.modelcontextprotocol/protocolVersion": "2026-07-28",
          "io.modelcontextprotocol/clientInfo": { name: "raw", version: "1" },
          "io.modelcontextprotocol/clientCapabilities": { elicitation: { form: {} } },
        },
      };
      const headers = {
        host: "127.0.0.1",
        "content-type": "application/json",
        accept: "application/json, text/event-stream",
        "mcp-protocol-version": "2026-07-28",
        "mcp-method": "tools/call",
        "mcp-name": "answer",
      };
      const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/call", params });
      const response = await mcp.fetch(
        new Request("http://127.0.0.1/mcp", { method: "POST", headers, body }),
        {
          trusted: true,
        },
      );
      return ((await response.json()) as { result: { resultType: string; inputRequests?: object } }).result;
    };
    const asked = await send("answer 0123456789abcdef0123456789abcdef");
    expect(asked.resultType).toBe("input_required");
    expect((await graph.getState(on("newer"))).next).toEqual(["ask"]);
    expect((await send(Object.keys(asked.inputRequests!)[0]!)).resultType).toBe("complete");
    expect((await graph.getState(on("newer"))).values).toMatchObject({ answer: "old" });
  });

  test("an answer allows a call that a policy asks about, under the person's name", async () => {
    const journal = createJournal(saver, { policy: () => ({ ask: "over the limit" }) });
    const { pay, paid } = payments();
    const agent = agentOf(
      journal,
      journal.tools([pay], { pay: "once" }),
      (turn) => (turn === 0 ? asks(pays(5)) : says("done")),
      saver,
    );
    await agent.graph.invoke({ messages: [new HumanMessage({ content: "pay", id: "m" })] }, on("paying"));
    const client = await connected(
      serve({ ...options, graph: () => Promise.resolve(agent.graph as never) }),
      {
        person: () => ({ action: "accept", content: { answer: "allow", author: "Petra" } }),
      },
    );
    expect((await called(client, "questions", { thread: "paying" })).items).toMatchObject([
      { kind: "approval" },
    ]);
    expect(await called(client, "answer", { thread: "paying" })).toMatchObject({
      kind: "approval",
      answered: true,
    });
    expect(paid).toEqual([]);
    await called(client, "run", { at: "paying" });
    expect(paid).toEqual([5]);
    expect(JSON.stringify(await called(client, "calls", { thread: "paying" }))).toContain("Petra");
    await client.close();
  });
});

test("over stdio a subscription to more than is watched is refused, not half served", async () => {
  const [stdin, stdout] = [new PassThrough(), new PassThrough()];
  const connection = serve().serve({ stdin, stdout });
  const answers = createInterface({ input: stdout })[Symbol.asyncIterator]();
  const listen = async (id: number, resources: number) => {
    const resourceSubscriptions = Array.from({ length: resources }, (_, n) => `stratigraph://threads/t${n}`);
    const _meta = {
      "io.modelcontextprotocol/protocolVersion": "2026-07-28",
      "io.modelcontextprotocol/clientInfo": { name: "raw", version: "1" },
      "io.modelcontextprotocol/clientCapabilities": {},
    };
    const params = { notifications: { resourceSubscriptions }, _meta };
    stdin.write(`${JSON.stringify({ jsonrpc: "2.0", id, method: "subscriptions/listen", params })}\n`);
    return JSON.parse((await answers.next()).value as string) as object;
  };
  expect(await listen(1, 101)).toMatchObject({
    id: 1,
    error: { code: -32_602, message: expect.stringContaining("Watch 100 resources at most") },
  });
  expect(await listen(2, 100)).toMatchObject({ method: "notifications/subscriptions/acknowledged" });
  await connection.close();
});

test("a storage that nobody needs is closed, and opened again at the next call", async () => {
  const tier = new MemoryTier();
  let opened = 0;
  let closed!: () => void;
  const mcp = createMcp({
    pollMs: 10,
    saver: () => {
      opened += 1;
      return Promise.resolve(new TierSaver(tier));
    },
    onIdle: () => closed(),
  });
  const client = await connected(mcp);
  for (const n of [1, 2]) {
    const next = new Promise<void>((resolve) => {
      closed = resolve;
    });
    await called(client, "threads");
    await next;
    expect(opened).toBe(n);
  }
  await client.close();
  await mcp.end();
});

test("a storage isn't closed while a call is under way, however long it takes", async () => {
  vi.useFakeTimers();
  const running = new Running();
  let closed = 0;
  const idle = new Idle(
    () => running.size,
    50,
    () => (closed += 1),
  );
  let end!: () => void;
  const call = running.run(
    new AbortController().signal,
    () =>
      new Promise<void>((resolve) => {
        end = resolve;
      }),
  );
  idle.touch();
  vi.advanceTimersByTime(500);
  expect(closed).toBe(0);
  end();
  await call;
  idle.touch();
  vi.advanceTimersByTime(50);
  expect(closed).toBe(1);
  vi.useRealTimers();
});

test("a client that listens hears of changes of its threads, and not of others", async () => {
  const mcp = serve({ pollMs: 10, tokens: [{ name: "acme", token: token("acme"), threads: ["acme/"] }] });
  const client = await connected(mcp, { bearer: token("acme") });
  const heard: string[] = [];
  let told!: () => void;
  client.setNotificationHandler("notifications/resources/updated", ({ params: { uri } }) => {
    heard.push(uri);
    told?.();
  });
  const next = () =>
    new Promise<void>((resolve) => {
      told = resolve;
    });
  const [own, foreign] = ["stratigraph://threads/acme%2F2", "stratigraph://threads/other"];
  const first = next();
  const subscription = await client.listen({ resourceSubscriptions: [own, foreign] });
  await first;
  const second = next();
  await graph.updateState(on("other"), { note: "not for you" });
  await graph.updateState(on("acme/2"), { note: "new" });
  await second;
  expect(new Set(heard)).toEqual(new Set([own]));
  await subscription.close();
  await client.close();
  await mcp.end();
});
