import { PostgresSaver } from "@stratigraph/postgres";
import { healthHandlers } from "@stratigraph/service";
import { expect, test } from "vitest";
import { available } from "../../../../test/servers/available.ts";
import { startPostgres, type PostgresServer } from "../../../../test/servers/postgres.ts";
import { waitUntil } from "../../../../test/servers/process.ts";
import { silentProxy, type SilentProxy } from "../../../../test/servers/silentProxy.ts";

describe.skipIf(!available.postgres)("readyz over a PostgreSQL that", () => {
  let server: PostgresServer;
  let proxy: SilentProxy;
  let saver: PostgresSaver;
  let readyz: () => Promise<Response>;

  beforeAll(async () => {
    server = await startPostgres();
    proxy = await silentProxy(server.port);
    const url = `postgres://postgres@127.0.0.1:${proxy.port}/postgres`;
    saver = PostgresSaver.fromConnString(url, { statementTimeout: "1s", retryFor: "1s" });
    await saver.setup();
    const handlers = healthHandlers(saver, { timeout: "300ms" });
    readyz = () => handlers.readyz(new Request("http://localhost/readyz?verbose"));
    expect((await readyz()).status).toBe(200);
  });

  afterAll(async () => {
    await saver?.end();
    await proxy?.close();
    await server?.stop();
  });

  test("hangs: 503 in its time, without questions that pile up; 200 once it answers again", async () => {
    proxy.silence();
    const answers = await Promise.all(Array.from({ length: 30 }, readyz));
    for (const answer of answers) expect(answer.status).toBe(503);
    expect(await answers[0]!.json()).toMatchObject({
      status: "unavailable",
      tiers: [{ name: "postgres", role: "warm", ok: false, code: "UNAVAILABLE" }],
    });
    proxy.speak();
    await waitUntil("readiness", async () => (await readyz()).status === 200, {
      timeoutMs: 30_000,
      everyMs: 50,
    });
  });

  test("is killed: 503, and the answer tells no address; 200 once it is back", async () => {
    await server.kill();
    const answer = await readyz();
    expect(answer.status).toBe(503);
    expect(await answer.text()).not.toMatch(/127\.0\.0\.1|postgres:|ECONN|password/);
    await server.start();
    await waitUntil("readiness", async () => (await readyz()).status === 200, {
      timeoutMs: 30_000,
      everyMs: 50,
    });
  });
});
