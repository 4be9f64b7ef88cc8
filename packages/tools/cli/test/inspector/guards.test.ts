import { connect } from "node:net";
import { afterAll, beforeAll, expect, test } from "vitest";
import { createInspector, inspect } from "../../src/inspector/index.ts";
import { demoThreads } from "./support/demoThreads.ts";
import { sendRaw, serve, type Served } from "./support/serve.ts";

let served: Served;

beforeAll(async () => {
  served = await serve();
  await demoThreads(served.saver, ["ada"], { turns: 1 });
});

afterAll(async () => {
  await served.inspector.close();
});

function codeOf(text: string): unknown {
  return (JSON.parse(text) as { error: { code: string } }).error.code;
}

test("the API answers to its token alone", async () => {
  expect((await served.get("/api/threads")).status).toBe(200);
  const wrong = [undefined, "", "x", `${served.token}x`, served.token.slice(1), served.token.toUpperCase()];
  for (const token of wrong) {
    const headers = token === undefined ? {} : { "x-stratigraph-token": token };
    for (const path of ["/api/threads", "/api/_session", "/api/_events", "/api/_value", "/api/nothing"]) {
      const { status, text } = await sendRaw(served.origin, { path, headers });
      expect([path, token, status, codeOf(text)]).toEqual([path, token, 401, "ACCESS_DENIED"]);
      expect(text).not.toContain(served.token);
    }
  }
  const inQuery = await sendRaw(served.origin, { path: `/api/threads?token=${served.token}` });
  expect(inQuery.status).toBe(401);
});

test("requests for another host are refused, page and all: a name can be made to resolve to this machine", async () => {
  const { port } = new URL(served.origin);
  const answers = async (host: string, path = "/api/threads") => {
    const headers = { host, "x-stratigraph-token": served.token };
    return (await sendRaw(served.origin, { path, headers })).status;
  };
  for (const host of [
    `127.0.0.1:${port}`,
    `localhost:${port}`,
    `LOCALHOST:${port}`,
    `[::1]:${port}`,
    "localhost",
  ])
    expect([host, await answers(host)]).toEqual([host, 200]);
  const foreign = [
    `evil.example:${port}`,
    `127.0.0.1.evil.example:${port}`,
    `localhost.evil.example`,
    `evil.example#localhost`,
    `localhost@evil.example`,
    `192.168.1.7:${port}`,
  ];
  for (const host of foreign)
    for (const path of ["/api/threads", "/", "/t/ada"])
      expect([host, [400, 403].includes(await answers(host, path))]).toEqual([host, true]);
});

test("requests of other origins and sites are refused; a link from elsewhere to the page isn't", async () => {
  const status = async (headers: Record<string, string>, path = "/api/threads", method = "GET") =>
    (
      await sendRaw(served.origin, {
        path,
        method,
        headers: { "x-stratigraph-token": served.token, ...headers },
      })
    ).status;
  expect(await status({ origin: served.origin, "sec-fetch-site": "same-origin" })).toBe(200);
  for (const origin of ["https://evil.example", "null", "", "http://127.0.0.1:1", "file://"])
    expect([origin, await status({ origin })]).toEqual([origin, 403]);
  for (const site of ["cross-site", "same-site", "anything"])
    expect([site, await status({ "sec-fetch-site": site })]).toEqual([site, 403]);
  const link = { "sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate", "sec-fetch-dest": "document" };
  expect(await status(link, "/t/ada")).not.toBe(403);
  expect(await status({ ...link, "sec-fetch-dest": "iframe" }, "/t/ada")).toBe(403);
  expect(await status(link, "/t/ada", "POST")).toBe(403);
  expect(await status({ "sec-fetch-site": "cross-site", "sec-fetch-mode": "no-cors" }, "/assets/x.js")).toBe(
    403,
  );
});

test("every answer tells browsers to load nothing from elsewhere, and lets no other origin read it", async () => {
  const paths = ["/", "/assets/none.js", "/api/threads", "/api/nothing"];
  for (const path of paths) {
    const { headers } = await sendRaw(served.origin, {
      path,
      headers: { "x-stratigraph-token": served.token },
    });
    expect(headers["content-security-policy"]).toContain("default-src 'self'");
    expect(headers["content-security-policy"]).toContain("frame-ancestors 'none'");
    expect(headers["content-security-policy"]).not.toMatch(/unsafe|\*/);
    expect(headers).toMatchObject({
      "x-content-type-options": "nosniff",
      "referrer-policy": "no-referrer",
      "cross-origin-opener-policy": "same-origin",
      "cross-origin-resource-policy": "same-origin",
    });
    expect(Object.keys(headers).filter((name) => name.startsWith("access-control"))).toEqual([]);
    if (path.startsWith("/api")) expect(headers["cache-control"]).toBe("no-store");
  }
  const preflight = { origin: "https://evil.example", "access-control-request-method": "GET" };
  const asked = await sendRaw(served.origin, { path: "/api/threads", method: "OPTIONS", headers: preflight });
  expect(asked.status).toBe(403);
});

test("a malformed request is answered with what is wrong, and the server keeps running", async () => {
  const headers = { "x-stratigraph-token": served.token, "content-type": "application/json" };
  const post = (body: string, more: Record<string, string> = {}) =>
    sendRaw(served.origin, { path: "/api/fork", method: "POST", headers: { ...headers, ...more }, body });
  for (const body of ["{", "[]", "null", "1", '"text"', "\u0000", '{"at":"ada"} x'])
    expect([body, (await post(body)).status, codeOf((await post(body)).text)]).toEqual([
      body,
      400,
      "INVALID_OPTION",
    ]);
  expect((await post('{"at":"ada"}', { "content-type": "text/plain" })).status).toBe(400);
  for (const query of ["at=%E0%A4%A", "at=%", "at=%zz", "%ff=1"]) {
    const { status, text } = await sendRaw(served.origin, { path: `/api/show?${query}`, headers });
    expect([query, status, codeOf(text)]).toEqual([query, 400, "INVALID_OPTION"]);
  }
  for (const path of [
    "/%E0%A4%A",
    "/t/%",
    "/api/%E0%A4%A",
    "/api/__proto__",
    "/api/constructor",
    "/api//",
    "/api",
  ])
    expect([
      path,
      (await sendRaw(served.origin, { path, headers })).status < 500 ||
        path.startsWith("/%") ||
        path === "/t/%",
    ]).toEqual([path, true]);
  for (const query of ["__proto__=1", "constructor=1", "at=ada&__proto__=x"]) {
    const { status } = await sendRaw(served.origin, { path: `/api/show?${query}`, headers });
    expect([query, status]).toEqual([query, 400]);
  }
  const { status, body } = await served.post("show", { at: "ada", wrong: 1, maxBytes: "x" });
  expect(status).toBe(400);
  const { fields, help } = (body as { error: { fields: { path: string }[]; help: string } }).error;
  expect(fields.map(({ path }) => path).toSorted()).toEqual(["maxBytes", "wrong"]);
  expect(help).toMatch(/ERRORS\.md#invalid_option$/);
  expect((await served.get("/api/threads")).status).toBe(200);
});

test("a body of more than 64 MB is refused, whether or not it says how long it is", async () => {
  const headers = { "x-stratigraph-token": served.token, "content-type": "application/json" };
  const said = await sendRaw(served.origin, {
    path: "/api/fork",
    method: "POST",
    headers: { ...headers, "content-length": String(65 * 2 ** 20) },
  }).catch((error: Error) => error);
  expect(said instanceof Error ? 413 : said.status).toBe(413);
  let sent = 0;
  const piece = Buffer.alloc(2 ** 20, " ");
  const body = new ReadableStream({
    pull(controller) {
      sent += 1;
      if (sent > 80) controller.close();
      else controller.enqueue(piece);
    },
  });
  const response = await fetch(`${served.origin}/api/fork`, {
    method: "POST",
    headers,
    body,
    duplex: "half",
  } as RequestInit);
  expect([response.status, sent < 80]).toEqual([413, true]);
  await response.body?.cancel();
});

test("a connection that says nothing, or nonsense, harms nobody", async () => {
  const { port } = new URL(served.origin);
  for (const text of ["", "GET", "\u0000\u0001", "GET / HTTP/1.0\r\n\r\n", "GET / HTTP/1.1\r\n\r\n"]) {
    const socket = connect(Number(port), "127.0.0.1");
    socket.on("error", () => undefined);
    await new Promise((resolve) => socket.write(text, resolve));
    socket.destroy();
  }
  expect((await served.get("/api/threads")).status).toBe(200);
});

test("another host than loopback needs a token that was chosen for it", async () => {
  const { saver } = served;
  await expect(inspect({ saver, host: "0.0.0.0" })).rejects.toMatchObject({
    code: "INVALID_OPTION",
    message: expect.stringContaining("STRATIGRAPH_INSPECTOR_TOKEN") as string,
  });
  const before = process.env["STRATIGRAPH_INSPECTOR_TOKEN"];
  try {
    process.env["STRATIGRAPH_INSPECTOR_TOKEN"] = "too short";
    await expect(inspect({ saver, host: "0.0.0.0" })).rejects.toMatchObject({ code: "INVALID_OPTION" });
    await expect(inspect({ saver })).rejects.toThrow(/^(?!.*too short)/);
    process.env["STRATIGRAPH_INSPECTOR_TOKEN"] = "long enough to be guessed by nobody".replaceAll(" ", "-");
    const open = await inspect({ saver, host: "0.0.0.0" });
    const { port, hash } = new URL(open.url);
    expect(hash).toBe("#token=long-enough-to-be-guessed-by-nobody");
    const headers = { "x-stratigraph-token": hash.slice("#token=".length) };
    const status = async (host: string) =>
      (await sendRaw(`http://127.0.0.1:${port}`, { path: "/api/threads", headers: { ...headers, host } }))
        .status;
    expect(await status("192.168.1.7")).toBe(200);
    expect(await status("evil.example")).toBe(403);
    await open.close();
  } finally {
    if (before === undefined) delete process.env["STRATIGRAPH_INSPECTOR_TOKEN"];
    else process.env["STRATIGRAPH_INSPECTOR_TOKEN"] = before;
  }
});

test("a port that is taken, and options that can't be used, are refused with what to do", async () => {
  const { saver } = served;
  const { port } = new URL(served.origin);
  await expect(inspect({ saver, port: Number(port) })).rejects.toMatchObject({
    code: "MISCONFIGURED",
    message: expect.stringContaining("in use") as string,
  });
  const wrong: object[] = [
    { port: 65_536 },
    { port: 1.5 },
    { host: "no such host" },
    { token: "short" },
    { allow: ["everything"] },
    { pollMs: 1 },
    { redact: ["messages.*.content", "messages["] },
    { redact: [""] },
    { saver: {} },
    { alow: ["read"] },
  ];
  for (const options of wrong)
    await expect(inspect({ saver, ...options } as never), JSON.stringify(options)).rejects.toMatchObject({
      code: expect.stringMatching(/^(INVALID_OPTION|MISCONFIGURED)$/) as string,
    });
  expect(() => createInspector({ saver, token: "short" })).toThrow(/token/);
});
