import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { TierSaver } from "@stratigraph/core";
import { postgres } from "@stratigraph/postgres";
import { FaultyTier } from "@stratigraph/testing";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { childProgram } from "../../../../../test/servers/childProgram.ts";
import { waitUntil } from "../../../../../test/servers/process.ts";
import { freshDatabase, type FreshDatabase } from "../../../../../test/servers/shared.ts";
import { inspect, type RunningInspector } from "../../src/inspector/index.ts";
import type { McpAudit } from "../../src/mcp/index.ts";
import { sendRaw } from "../inspector/support/serve.ts";
import { putValues } from "../operations/support/threads.ts";
import { spawnCli } from "../terminal/support/spawnCli.ts";

// The SDK's own client, of both eras of the protocol, over HTTP and over stdio; and clients that behave badly.

const token = "a-token-of-the-tests";
const uri = "stratigraph://threads/ada";
const audit: McpAudit[] = [];
const errors: unknown[] = [];
let database: FreshDatabase;
let tier: FaultyTier;
let saver: TierSaver;
let inspector: RunningInspector;
let folder: string;
let config: string;

beforeAll(async () => {
  database = await freshDatabase();
  tier = new FaultyTier(new TierSaver(postgres({ url: database.url })).tier);
  saver = new TierSaver(tier);
  await saver.setup();
  await putValues(saver, "ada", { count: 1 });
  const mcp = { audit: (entry: McpAudit) => void audit.push(entry) };
  inspector = await inspect({ saver, token, pollMs: 20, mcp, onError: (error) => errors.push(error) });
  folder = await mkdtemp(join(tmpdir(), "stratigraph-mcp-clients-"));
  config = join(folder, "config.json");
  await writeFile(config, JSON.stringify({ checkpointer: database.url }));
});

afterAll(async () => {
  await inspector.close();
  await saver.end();
  await database.drop();
  await rm(folder, { recursive: true });
});

type Era = "2026-07-28" | "2025-11-25";
type Way = "HTTP" | "stdio";

async function connected(era: Era, way: Way): Promise<Client> {
  const client = new Client(
    { name: "test", version: "1.0.0" },
    { versionNegotiation: { mode: era === "2026-07-28" ? { pin: era } : "legacy" } },
  );
  await client.connect(way === "HTTP" ? overHttp() : overStdio());
  return client;
}

function overHttp(): StreamableHTTPClientTransport {
  const headers = { authorization: `Bearer ${token}` };
  return new StreamableHTTPClientTransport(new URL("/mcp", inspector.url), { requestInit: { headers } });
}

function overStdio(): StdioClientTransport {
  const { path, execArgv } = childProgram(join(import.meta.dirname, "../terminal/support/cliChild.ts"));
  const args = [...execArgv, path, "mcp", "--quiet", "--config", config];
  return new StdioClientTransport({ command: process.execPath, args });
}

/** Addresses that the server said have changed. */
function heardBy(client: Client): string[] {
  const heard: string[] = [];
  client.setNotificationHandler(
    "notifications/resources/updated",
    ({ params }) => void heard.push(params.uri),
  );
  return heard;
}

describe.each<[Era, Way]>([
  ["2026-07-28", "HTTP"],
  ["2025-11-25", "HTTP"],
  ["2026-07-28", "stdio"],
  ["2025-11-25", "stdio"],
])("a client of %s over %s", (era, way) => {
  test("lists, calls, reads, hears of changes, and ends", { timeout: 60_000 }, async () => {
    const client = await connected(era, way);
    expect(client.getNegotiatedProtocolVersion()).toBe(era);
    expect((await client.listTools()).tools.map(({ name }) => name)).toContain("history");
    const called = await client.callTool({ name: "show", arguments: { at: "ada" } });
    expect(called.structuredContent).toMatchObject({ thread: "ada" });
    expect((await client.listResources()).resources.map((each) => each.uri)).toContain(uri);
    const read = await client.readResource({ uri });
    expect(JSON.parse((read.contents[0] as { text: string }).text)).toMatchObject({ thread: "ada" });
    const completion = await client.complete({
      ref: { type: "ref/resource", uri: "stratigraph://threads/{thread}" },
      argument: { name: "thread", value: "a" },
    });
    expect(completion.completion.values).toEqual(["ada"]);
    await expect(client.readResource({ uri: `${uri}/nothing` })).rejects.toMatchObject({ code: -32_602 });
    await expect(client.callTool({ name: "destroy-all" })).rejects.toMatchObject({ code: -32_602 });

    const heard = heardBy(client);
    if (era === "2026-07-28") {
      const listening = await client.listen({ resourceSubscriptions: [uri] });
      await waitUntil("the first word", () => heard.length > 0);
      if (way === "HTTP") {
        const before = heard.length;
        await putValues(saver, "ada", { count: 2 });
        await waitUntil("word of the change", () => heard.length > before);
      }
      await listening.close();
      expect(new Set(heard)).toEqual(new Set([uri]));
    } else if (way === "stdio") {
      await client.subscribeResource({ uri });
      await waitUntil("the first word", () => heard.length > 0);
      await client.unsubscribeResource({ uri });
    } else {
      expect(client.getServerCapabilities()?.resources?.subscribe).toBe(false);
      await expect(client.subscribeResource({ uri })).rejects.toMatchObject({ code: -32_601 });
    }
    await client.close();
  });
});

/** A call that lasts until it is aborted: at this rate a thread takes 17 minutes. */
const endless = { name: "verify", arguments: { rate: "0.001" } };

describe("a client that goes away in the midst of a call", { timeout: 60_000 }, () => {
  test("over HTTP, by cancelling or with its connection: the call ends, and the server goes on", async () => {
    for (const goes of ["cancels", "is gone"]) {
      const client = await connected("2026-07-28", "HTTP");
      audit.length = 0;
      tier.reset();
      const leaving = new AbortController();
      const call = client.callTool(endless, { signal: leaving.signal });
      await waitUntil("the call", () => tier.calls.length > 0);
      if (goes === "cancels") leaving.abort();
      else await client.close();
      await expect(call).rejects.toThrow();
      await waitUntil("the end of the call", () => audit.length > 0);
    }
    const another = await connected("2025-11-25", "HTTP");
    expect(await another.callTool({ name: "show", arguments: { at: "ada" } })).toMatchObject({
      structuredContent: { thread: "ada" },
    });
    await another.close();
  });

  test("over stdio, by cancelling: the call ends; with its streams: the server does", async () => {
    const running = spawnCli(["mcp", "--config", config]);
    const send = (line: string): Promise<void> =>
      new Promise((resolve) => void running.child.stdin?.write(`${line}\n`, () => resolve()));
    const say = (message: object): Promise<void> => send(JSON.stringify({ jsonrpc: "2.0", ...message }));
    const [clientInfo, protocolVersion] = [{ name: "test", version: "1.0.0" }, "2025-11-25"];
    await say({ id: 1, method: "initialize", params: { protocolVersion, clientInfo, capabilities: {} } });
    await running.said(/"id":1/);
    await say({ method: "notifications/initialized" });
    for (const line of ["no JSON", "[]", "null", '[{"jsonrpc":"2.0","id":5,"method":"ping"}]', '{"id":{}}'])
      await send(line);
    await send("[".repeat(100_000));
    await say({ id: '"\u0000🐢', method: "no/method" });
    await running.said(/"id":"\\"\\u0000🐢","error":\{"code":-32601/);

    await say({ id: 2, method: "tools/call", params: endless });
    await say({ method: "notifications/cancelled", params: { requestId: 2 } });
    await running.said(/"asked":"verify"/);
    await say({ id: 3, method: "tools/call", params: endless });
    running.child.stdin?.destroy();
    running.child.stdout?.destroy();
    expect(await running.ended).toEqual({ code: 0, signal: null });
    expect(running.output()).toMatch(/"asked":"verify".*"outcome":"CLOSED"/);
  });
});

describe("hostile requests over HTTP", () => {
  const _meta = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientInfo": { name: "test", version: "1.0.0" },
    "io.modelcontextprotocol/clientCapabilities": {},
  };
  const headers = {
    authorization: `Bearer ${token}`,
    "content-type": "application/json",
    accept: "application/json, text/event-stream",
    "mcp-protocol-version": "2026-07-28",
    "mcp-method": "prompts/list",
  };
  const right = { jsonrpc: "2.0", id: 1, method: "prompts/list", params: { _meta } };
  const nested = (depth: number): string => `${"[".repeat(depth)}${"]".repeat(depth)}`;
  const calling = { "mcp-method": "tools/call", "mcp-name": "show" };
  /** The arguments are text: JSON.stringify can't write what is nested so deeply. */
  const show = (input: string): string =>
    `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"show","arguments":${input},"_meta":${JSON.stringify(_meta)}}}`;

  async function post(body: unknown, changed: Record<string, string> = {}) {
    const { status, text } = await sendRaw(new URL(inspector.url).origin, {
      path: "/mcp",
      method: "POST",
      headers: { ...headers, ...changed },
      body: typeof body === "string" ? body : JSON.stringify(body),
    });
    return { status, answer: JSON.parse(text) as Record<string, unknown> };
  }

  const refused: [string, unknown, Record<string, string>, number, number | string][] = [
    ["no JSON", "{", {}, 400, -32_700],
    ["no message", "null", {}, 400, -32_600],
    // Refused by its announced length: who sends it all gets an error of the connection, which the server closes.
    ["a huge body", "{", { "content-length": String(17 * 2 ** 20), connection: "close" }, 413, -32_600],
    ["an unknown method", { ...right, method: "no/method" }, { "mcp-method": "no/method" }, 404, -32_601],
    ["another method in the header", right, { "mcp-method": "tools/call" }, 400, -32_020],
    ["another version in the header", right, { "mcp-protocol-version": "1999-01-01" }, 400, -32_020],
    ["a batch", [right, right], {}, 400, -32_600],
    ["an empty batch", [], {}, 400, -32_600],
    ["a body nested deeply", nested(100_000), {}, 400, -32_600],
    ["an id that is an object", { ...right, id: {} }, {}, 400, -32_600],
    ["a form", right, { "content-type": "text/plain" }, 415, -32_000],
    ["no token", right, { authorization: "" }, 401, -32_600],
    ["a wrong token", right, { authorization: "Bearer another-token-of-the-tests" }, 401, -32_600],
    ["a forged host", right, { host: "evil.example.com" }, 403, "ACCESS_DENIED"],
    ["a forged origin", right, { origin: "http://evil.example.com" }, 403, "ACCESS_DENIED"],
  ];
  test.each(refused)("%s is refused", async (_, body, changed, status, code) => {
    expect(await post(body, changed)).toMatchObject({ status, answer: { error: { code } } });
  });

  test.each([
    ["nested deeply", `{"at":${nested(100_000)}}`],
    ["objects nested deeply", `${'{"a":'.repeat(20_000)}1${"}".repeat(20_000)}`],
    ["of a wrong type, unknown, and a prototype", '{"at":1,"nothing":1,"__proto__":{"at":"ada"}}'],
    ["that names something strange", JSON.stringify({ at: '../"\u0000🐢' })],
  ])("an argument %s becomes a result that says so", async (_, input) => {
    expect(await post(show(input), calling)).toMatchObject({
      status: 200,
      answer: { result: { isError: true } },
    });
  });

  test("ids come back as they were, and all that came before has broken nothing", async () => {
    for (const id of ['"\u0000🐢</script>', "x".repeat(100_000), Number.MAX_SAFE_INTEGER])
      expect(await post({ ...right, id })).toMatchObject({ status: 200, answer: { id } });
    expect(errors.filter((error) => error instanceof TypeError || error instanceof RangeError)).toEqual([]);
  });
});
