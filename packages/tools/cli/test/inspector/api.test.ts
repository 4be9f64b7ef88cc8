import { MemoryTier, NotFoundError, TierSaver } from "@stratigraph/core";
import { operations, runOperation, type Context, type Operation } from "../../src/operations/index.ts";
import { afterAll, beforeAll, expect, test } from "vitest";
import { waitUntil } from "../../../../../test/servers/process.ts";
import { putValues } from "../operations/support/threads.ts";
import { demoThreads } from "./support/demoThreads.ts";
import { sendRaw, serve, type Served } from "./support/serve.ts";

const hostileId = `a/b?c=1&d#e%2F.."'<script>\u202e🐢`;

let reader: Served;
let writer: Served;

beforeAll(async () => {
  const saver = new TierSaver(new MemoryTier());
  await demoThreads(saver, ["ada", "bob", hostileId]);
  const graph = noGraph;
  reader = await serve({ saver, graph, graphs: ["agent"], storage: "memory", origin: "a test" });
  writer = await serve({ saver, graph, allow: ["read", "write", "destroy"] });
});

afterAll(async () => {
  await reader.inspector.close();
  await writer.inspector.close();
});

function noGraph(): Promise<never> {
  return Promise.reject(new NotFoundError("This test has no graph.", {}));
}

function contextOf(served: Served): Context {
  return {
    saver: async () => served.saver,
    open: () => Promise.reject(new Error("this test has no other storage")),
    graph: noGraph,
    signal: new AbortController().signal,
    progress: () => undefined,
    redact: [],
    cwd: process.cwd(),
    origin: "a test",
  };
}

/** Input of operations for which naming a thread isn't enough. */
const inputs: Readonly<Record<string, Readonly<Record<string, unknown>>>> = {
  threads: { limit: 2, order: "oldest" },
  history: { thread: hostileId, limit: 3 },
  show: { at: hostileId, channel: "messages", path: "[-1].content" },
  diff: { from: "ada@head~3", to: "ada" },
  blame: { at: "ada", path: "messages[3]" },
  compare: { threads: ["ada", "bob", hostileId] },
  verify: { threads: ["ada", "bob"], keep: 5 },
};

/** The input of an operation here: a dry run, if it would change something. */
function inputOf({ name, input: { shape } }: Operation): Record<string, unknown> {
  const named = { at: "ada", thread: "ada", threads: ["ada"], from: "ada", into: "bob" };
  const fields = Object.entries(named).filter(([field]) => Object.hasOwn(shape, field));
  const dry = Object.hasOwn(shape, "dryRun") ? { dryRun: true } : {};
  return { ...(inputs[name] ?? Object.fromEntries(fields)), ...dry };
}

/** Times differ between two runs of the same. */
function timeless(output: unknown): unknown {
  const text = JSON.stringify(output)
    .replaceAll(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, "(time)")
    .replaceAll(/\d+(?:\.\d+)? (?:ms|s)\b/g, "(duration)")
    .replaceAll(/"ms":[\d.]+/g, '"ms":0')
    .replaceAll(/"seconds":[\d.]+/g, '"seconds":0');
  return JSON.parse(text) as unknown;
}

const offered = operations.filter(({ group }) => group !== "transfer");

test.each(offered.map((operation) => [operation.name, operation] as const))(
  "%s returns over HTTP what the operation returns",
  async (name, operation) => {
    const input = inputOf(operation);
    const canOnlyTell = operation.effect === "read" || "dryRun" in input || "apply" in operation.input.shape;
    // Operations that change something get input that they refuse: that they work is shown below.
    const given = canOnlyTell ? input : { nonsense: true };
    const expected = await runOperation(operation, given, contextOf(reader)).catch((error: Error) => error);
    const asked = canOnlyTell ? reader : writer;
    const posted = await asked.post(name, given);
    if (expected instanceof Error) {
      const { code, message } = expected as Error & { code: string };
      expect(posted.body["error"]).toMatchObject({ code, message });
      expect([400, 404, 409, 500]).toContain(posted.status);
    } else {
      expect(posted.status).toBe(200);
      expect(timeless(posted.body)).toEqual(timeless(expected));
    }
    if (operation.effect !== "read") return;
    const { status, body } = await asked.get(`/api/${name}?${queryOf(given)}`);
    expect([status, timeless(body)]).toEqual([posted.status, timeless(posted.body)]);
  },
);

function queryOf(input: Readonly<Record<string, unknown>>): string {
  const pairs = Object.entries(input).flatMap(([name, value]) =>
    (Array.isArray(value) ? value : [value]).map((each): [string, string] => [name, String(each)]),
  );
  return new URLSearchParams(pairs).toString();
}

test("the session tells what the page may do, and with what", async () => {
  const { body } = await reader.get("/api/_session");
  expect(body).toMatchObject({ storage: "memory", origin: "a test", allow: ["read"], graphs: ["agent"] });
  expect(body["version"]).toMatch(/^\d+\.\d+\.\d+/);
  const names = (body["operations"] as { name: string }[]).map(({ name }) => name);
  expect(names).toEqual(offered.map(({ name }) => name));
  expect(names).not.toContain("export");
});

test("a read-only inspector refuses changes, however they are requested, and tells what they would do", async () => {
  const refused = async (operation: string, input: object) => {
    const { status, body } = await reader.post(operation, input);
    return [status, (body["error"] as { code?: string } | undefined)?.code];
  };
  const denied = [403, "ACCESS_DENIED"];
  expect(await refused("delete", { thread: ["ada"] })).toEqual(denied);
  expect(await refused("delete", { thread: ["ada"], dryRun: false })).toEqual(denied);
  expect(await refused("delete", { thread: ["ada"], dryRun: "false" })).toEqual(denied);
  expect(await refused("fork", { at: "ada", to: "ada/2" })).toEqual(denied);
  expect(await refused("repair", { threads: ["ada"], apply: true })).toEqual(denied);
  // A text counts as a boolean, so it must not pass as one that isn't true.
  expect(await refused("repair", { threads: ["ada"], apply: "true" })).toEqual(denied);
  expect(await refused("setup", {})).toEqual(denied);
  expect((await reader.post("delete", { thread: ["ada"], dryRun: true })).status).toBe(200);
  expect((await reader.post("repair", { threads: ["ada"] })).status).toBe(200);
  expect((await reader.get("/api/fork?at=ada&to=ada-2")).status).toBe(405);
  expect((await reader.get("/api/delete?thread=ada&dryRun=true")).status).toBe(405);
  expect((await reader.get("/api/threads?limit=10")).body["items"]).toHaveLength(3);
  const half = await serve({ saver: reader.saver, allow: ["read", "write"] });
  expect((await half.post("delete", { thread: ["ada"] })).status).toBe(403);
  await half.inspector.close();
});

test("an inspector that may change threads changes them", async () => {
  const forked = await writer.post("fork", { at: "ada", to: "ada/what-if" });
  expect(forked.status).toBe(200);
  const set = await writer.post("set", { at: "ada/what-if", channel: "title", value: '"Other"' });
  expect(set.status).toBe(200);
  const shown = await writer.get(`/api/show?${queryOf({ at: "ada/what-if", channel: "title" })}`);
  expect(shown.body["channels"]).toMatchObject([{ value: "Other" }]);
  const again = await writer.post("fork", { at: "ada", to: "ada/what-if" });
  expect([again.status, again.body["error"]]).toMatchObject([409, { code: "THREAD_EXISTS" }]);
  expect((await writer.post("delete", { thread: ["ada/what-if"] })).status).toBe(200);
  const gone = await writer.get(`/api/show?${queryOf({ at: "ada/what-if" })}`);
  expect([gone.status, gone.body["error"]]).toMatchObject([404, { code: "NOT_FOUND" }]);
});

test("operations that write files and connect elsewhere aren't offered, nor are names of other things", async () => {
  for (const name of [
    "export",
    "import",
    "move",
    "trail",
    "toString",
    "hasOwnProperty",
    "_other",
    "Threads",
    "threads/x",
  ])
    expect([name, (await writer.post(name, {})).status]).toEqual([name, 404]);
});

test("values come whole as a download, without what is redacted", async () => {
  const download = (query: object, served = reader) =>
    sendRaw(served.origin, {
      path: `/api/_value?${new URLSearchParams(query as Record<string, string>).toString()}`,
      headers: { "x-stratigraph-token": served.token },
    });
  const whole = await download({ thread: hostileId, channel: "messages" });
  const view = await reader.post("show", { at: hostileId, channel: "messages" });
  const [channel] = view.body["channels"] as { value: unknown; bytes: number }[];
  expect(JSON.parse(whole.text)).toEqual(channel!.value);
  expect(Number(whole.headers["content-length"])).toBe(channel!.bytes);
  expect(whole.headers["content-type"]).toBe("application/json");
  expect(whole.headers["content-disposition"]).toBe(
    'attachment; filename="a_b_c_1_d_e_2F_script-messages.json"'.replace("_script-", "_script_-"),
  );
  const part = await download({ thread: "ada", channel: "messages", path: "[0].content" });
  expect(part.text).toBe('"Hello"');
  const checkpoint = (await reader.get("/api/history?thread=ada&limit=3")).body["items"] as {
    checkpoint: string;
  }[];
  const older = await download({ thread: "ada", checkpoint: checkpoint[2]!.checkpoint, channel: "messages" });
  expect((JSON.parse(older.text) as unknown[]).length).toBeLessThan((channel!.value as unknown[]).length);
  const wrong = [
    {},
    { thread: "ada" },
    { thread: "nobody", channel: "messages" },
    { thread: "ada", channel: "none" },
    { thread: "ada", channel: "messages", path: "[99]" },
    { thread: "ada", channel: "messages", path: "[" },
    { thread: "ada", channel: "messages", other: "1" },
  ];
  for (const query of wrong)
    expect([400, 404], JSON.stringify(query)).toContain((await download(query)).status);
  await putValues(reader.saver, "photo", { image: new TextEncoder().encode("a face") });
  expect((await download({ thread: "photo", channel: "image" })).text).toBe("a face");
  const redacting = await serve({ saver: reader.saver, redact: ["messages.*.content", "title", "image"] });
  expect((await download({ thread: "photo", channel: "image" }, redacting)).text).toMatch(/ACCESS_DENIED/);
  const redacted = await download({ thread: "ada", channel: "messages" }, redacting);
  expect(redacted.text).not.toContain("Hello");
  expect(redacted.text).toContain("sg:redacted");
  expect((await download({ thread: "ada", channel: "title" }, redacting)).text).not.toContain("turn");
  await redacting.inspector.close();
});

test("a value of 12 MB is downloaded as it is stored", async () => {
  const saver = new TierSaver(new MemoryTier());
  await demoThreads(saver, ["long"], { title: "x".repeat(12_000_000), turns: 1 });
  const served = await serve({ saver });
  const headers = { "x-stratigraph-token": served.token };
  const response = await fetch(`${served.origin}/api/_value?thread=long&channel=title`, { headers });
  expect((await response.arrayBuffer()).byteLength).toBeGreaterThan(12_000_000);
  await served.inspector.close();
});

test("a long operation tells how far it is, and ends when the client goes away", async () => {
  const saver = new TierSaver(new MemoryTier());
  await demoThreads(
    saver,
    Array.from({ length: 40 }, (_, n) => `thread ${n}`),
    { turns: 1 },
  );
  const served = await serve({ saver });
  const all = await served.events("/api/verify", { headers: { accept: "text/event-stream" } });
  const [progress, result] = [await all.named("progress"), await all.named("result")];
  expect(progress.data).toMatchObject({ unit: "threads" });
  expect(result.data).toMatchObject({ complete: true, findings: [] });
  await all.ended();

  // One that is under way has one of 64 places, and gives it back when it ends. These take hours.
  const ask = async (accept: string, signal: AbortSignal): Promise<void> => {
    const headers = { "x-stratigraph-token": served.token, accept };
    await fetch(`${served.origin}/api/verify?rate=1b`, { headers, signal })
      .then((response) => response.text())
      .catch(() => undefined);
  };
  const isFull = async () => (await served.get("/api/threads")).status === 503;
  const staying = new AbortController();
  for (let n = 1; n < 64; n += 1) void ask("application/json", staying.signal);
  for (const accept of ["text/event-stream", "application/json"]) {
    const leaving = new AbortController();
    void ask(accept, leaving.signal);
    await waitUntil("64 operations", isFull);
    leaving.abort();
    await waitUntil("the end of one", async () => !(await isFull()), { timeoutMs: 20_000 });
  }
  staying.abort();
  await served.inspector.close();
});

test("errors come through a stream, too", async () => {
  const accept = { headers: { accept: "text/event-stream" } };
  const failed = await reader.events("/api/show?at=nobody", accept);
  expect((await failed.next()).data).toMatchObject({ status: 404, error: { code: "NOT_FOUND" } });
  await failed.ended();
  // What is wrong before it begins has its status.
  expect((await reader.events("/api/show?wrong=1", accept)).status).toBe(400);
});

test("errors of a graph's code or of ours are answered without a stack, and passed on", async () => {
  const errors: unknown[] = [];
  const mistake = new TypeError("x is not a function");
  const served = await serve({
    saver: () => Promise.reject(mistake),
    onError: (error) => errors.push(error),
  });
  const { status, body } = await served.get("/api/threads");
  expect([status, body]).toEqual([500, { error: { code: "INTERNAL", message: "x is not a function" } }]);
  expect(errors).toEqual([mistake]);
  await served.inspector.close();
  const hiding = await serve({ saver: () => Promise.reject(mistake), redact: ["messages"] });
  expect(JSON.stringify((await hiding.get("/api/threads")).body)).not.toContain("function");
  await hiding.inspector.close();
});

test("a given value that can't be stored is an error of the request, not of the server", async () => {
  for (const [levels, code] of [
    [2000, "SERIALIZATION"],
    [500_000, "INVALID_OPTION"],
  ] as const) {
    const value = `${"[".repeat(levels)}${"]".repeat(levels)}`;
    const { status, body } = await writer.post("set", { at: "ada", channel: "title", value, dryRun: true });
    expect([levels, status, body["error"]]).toMatchObject([levels, 400, { code }]);
  }
});
