import { execFile } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { createConnection, createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { startChromium } from "./chromium.ts";
import { fastFolder } from "./fastFolder.ts";
import { startPostgres } from "./postgres.ts";
import { startRedis } from "./redis.ts";
import { startS3, type S3Server } from "./s3.ts";
import type { S3Login } from "./s3Request.ts";

/**
 * vitest's globalSetup: one PostgreSQL, one Redis, one S3 and one Chromium for all test files. Each is started when the first test file asks for
 * it. Test files run in other processes and ask through a Unix socket, by shared.ts.
 */
export default async function registry(): Promise<() => Promise<void>> {
  const dir = mkdtempSync(join(tmpdir(), "stratigraph-registry-"));
  const socket = join(dir, "socket");
  const started = new Map<string, Promise<Started>>();
  const ask = (name: string) => {
    const start = STARTERS[name];
    if (!start) throw new Error(`no shared server is called ${name}`);
    const server = started.get(name) ?? start();
    started.set(name, server);
    return server;
  };
  const server = createServer((connection) => {
    connection.on("error", () => undefined);
    connection.once("data", async (name) => {
      const answer = await Promise.resolve()
        .then(() => ask(name.toString()))
        .then(
          ({ login }) => ({ login }),
          (error: unknown) => ({ error: String(error) }),
        );
      connection.end(JSON.stringify(answer));
    });
  });
  await new Promise<void>((resolve) => server.listen(socket, resolve));
  server.unref();
  // The processes of test files, and the children that tests start, inherit it.
  process.env[SOCKET] = socket;
  return async () => {
    server.close();
    for (const running of started.values()) await running.then((it) => it.stop()).catch(() => undefined);
    rmSync(dir, { recursive: true, force: true });
  };
}

const SOCKET = "STRATIGRAPH_TEST_REGISTRY";

interface Started {
  login: Login;
  stop(): Promise<void>;
}

/** How test files reach a shared server. */
export type Login = { url: string } | S3Login;

const STARTERS: Record<string, () => Promise<Started>> = {
  postgres: async () => {
    // Many test files share it, so it needs many connections.
    const server = await startPostgres({ extraSettings: { max_connections: 400 } });
    return { login: { url: server.url }, stop: () => server.stop() };
  },
  redis: async () => {
    const server = await startRedis();
    return { login: { url: server.url }, stop: () => server.stop() };
  },
  s3: async () => {
    const server: S3Server = await startS3();
    const { endpoint, accessKey, secretKey, region } = server;
    return { login: { endpoint, accessKey, secretKey, region }, stop: () => server.stop() };
  },
  // No server, but made once per run as well: the inspector's page, in a folder.
  page: async () => {
    const folder = mkdtempSync(join(tmpdir(), "stratigraph-page-"));
    const { buildPage } = await import("../../packages/tools/cli/test/inspector/support/buildPage.ts");
    await buildPage(folder);
    return { login: { url: folder }, stop: async () => rmSync(folder, { recursive: true }) };
  },
  // The files of an empty embedded database, in a folder. A process of its own writes them: this one is waited for by others.
  embedded: async () => {
    const folder = mkdtempSync(join(fastFolder(), "stratigraph-embedded-"));
    const program = `import { PGlite } from "@electric-sql/pglite";
      await (await PGlite.create(${JSON.stringify(folder)})).close();`;
    const cwd = join(import.meta.dirname, "../../packages/engine/postgres");
    await promisify(execFile)(process.execPath, ["--input-type=module", "--eval", program], { cwd });
    return { login: { url: folder }, stop: async () => rmSync(folder, { recursive: true }) };
  },
  chromium: async () => {
    const server = await startChromium();
    return { login: { url: server.url }, stop: () => server.stop() };
  },
};

/** Asks the registry for a shared server. The registry starts it if it isn't up yet. */
export async function askRegistry(name: string): Promise<Login> {
  const socket = process.env[SOCKET];
  if (socket === undefined)
    throw new Error("no registry: run this test with vitest at the repository's root");
  const answer = await new Promise<string>((resolve, reject) => {
    let text = "";
    const connection = createConnection(socket, () => connection.write(name));
    connection.on("data", (chunk) => (text += chunk.toString()));
    connection.once("error", reject);
    connection.once("end", () => resolve(text));
  });
  const { login, error } = JSON.parse(answer) as { login?: Login; error?: string };
  if (!login) throw new Error(`the shared ${name} did not start: ${error ?? "no answer"}`);
  return login;
}
