import { writeFileSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import {
  createCheckpointer,
  MemoryTier,
  postgres,
  redis,
  StratigraphError,
  type TierSource,
  type TraceEvent,
} from "stratigraph";
import { beforeAll, describe, expect, onTestFinished, test, vi } from "vitest";
import { available } from "../../../../test/servers/available.ts";
import { startRedis, type RedisServer } from "../../../../test/servers/redis.ts";
import {
  freshBucket,
  sharedPostgres,
  sharedRedis,
  type FreshBucket,
} from "../../../../test/servers/shared.ts";
import { sdk } from "../../../engine/s3/test/support/sdk.ts";
import { tracedWhile } from "../../../../test/tracedWhile.ts";

// A stack whose warm tier works: what a hot tier, an archive or a replica must be so that it opens. What can't work until somebody
// changes something is an error when it is opened, and names the role. What is only away is traced.

type OptionalRole = "hot" | "cold" | "replica";

/** Opens a stack over a warm tier in memory, and ends it. */
async function open(role: OptionalRole, source: TierSource): Promise<void> {
  const part = { hot: { hot: source }, cold: { cold: source }, replica: { replicas: [source] } }[role];
  const saver = await createCheckpointer({ warm: new MemoryTier(), ...part });
  await saver.end();
}

async function refused(role: OptionalRole, source: TierSource): Promise<StratigraphError> {
  const error: unknown = await open(role, source).then(
    () => new Error("It opened."),
    (reason: unknown) => reason,
  );
  if (!StratigraphError.is(error)) throw error;
  return error;
}

function temporaryFile(): string {
  const folder = mkdtempSync(join(tmpdir(), "stratigraph-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const file = join(folder, "file");
  writeFileSync(file, "no folder");
  return file;
}

describe.skipIf(!available.redis || !available.postgres || !available.s3)("with real servers", () => {
  let server: RedisServer;
  let bucket: FreshBucket;
  let shared: { redis: string; postgres: string };

  beforeAll(async () => {
    const { url } = await sharedRedis();
    shared = { redis: url, postgres: await sharedPostgres() };
    server = await startRedis({ password: "right" });
    await server.command("ACL", "SETUSER", "reader", "on", ">right", "~*", "+@connection");
    bucket = await freshBucket();
    return async () => {
      await server.stop();
      await bucket.drop();
    };
  });

  const named = (name: string, options: Record<string, string> = {}): string =>
    `s3://${name}?${new URLSearchParams({ endpoint: bucket.endpoint, region: bucket.region, ...options })}`;
  const login = (key = bucket.accessKey): void => {
    vi.stubEnv("AWS_ACCESS_KEY_ID", key);
    vi.stubEnv("AWS_SECRET_ACCESS_KEY", bucket.secretKey);
    for (const name of ["AWS_REGION", "AWS_DEFAULT_REGION"]) vi.stubEnv(name, undefined);
    vi.stubEnv("AWS_CONFIG_FILE", "/dev/null");
    onTestFinished(() => void vi.unstubAllEnvs());
  };
  const withoutPackage = (name: string): void => {
    vi.doMock(name, () => {
      throw Object.assign(new Error(`Cannot find package '${name}'`), { code: "ERR_MODULE_NOT_FOUND" });
    });
    onTestFinished(() => {
      vi.doUnmock(name);
      vi.doMock("@aws-sdk/client-s3", () => sdk);
    });
  };
  const otherDatabase = (path: string, user?: string): string => {
    const url = new URL(shared.postgres);
    url.pathname = path;
    if (user !== undefined) url.username = user;
    return url.href;
  };

  test.each<[string, OptionalRole, string, () => TierSource]>([
    ["a wrong password", "hot", "ACCESS_DENIED", () => server.url.replace("right", "wrong")],
    ["no password", "hot", "ACCESS_DENIED", () => server.url.replace(":right@", "")],
    ["a user without rights", "hot", "ACCESS_DENIED", () => server.url.replace(":right", "reader:right")],
    ["a database that isn't there", "hot", "MISCONFIGURED", () => `${shared.redis}/9999`],
    [
      "a cluster that is one server",
      "hot",
      "MISCONFIGURED",
      () => redis({ cluster: [{ url: shared.redis }] }),
    ],
    [
      "a missing package",
      "hot",
      "DRIVER_MISSING",
      () => {
        withoutPackage("ioredis");
        return shared.redis;
      },
    ],
    ["a missing bucket", "cold", "NOT_SET_UP", () => (login(), named("no-such-bucket"))],
    ["no region", "cold", "MISCONFIGURED", () => (login(), `s3://${bucket.bucket}`)],
    ["wrong credentials", "cold", "ACCESS_DENIED", () => (login("nobody"), named(bucket.bucket))],
    [
      "a missing package",
      "cold",
      "DRIVER_MISSING",
      () => (login(), withoutPackage("@aws-sdk/client-s3"), named(bucket.bucket)),
    ],
    ["a folder that can't be made", "cold", "MISCONFIGURED", () => `file:${temporaryFile()}/archive`],
    ["a wrong password", "cold", "ACCESS_DENIED", () => server.url.replace("right", "wrong")],
    ["a database that isn't there", "cold", "NOT_SET_UP", () => otherDatabase("/no_such_database")],
    ["a user that isn't there", "replica", "ACCESS_DENIED", () => otherDatabase("/postgres", "nobody")],
  ])("%s: the %s tier is refused with %s", async (_name, role, code, sourceOf) => {
    const error = await refused(role, sourceOf());
    expect(error.message).toContain(`The ${role} tier (`);
    expect(error).toMatchObject({ code, retryable: false, data: { role } });
    expect(error.message).not.toContain("wrong");
  });

  test.each<[string, OptionalRole, () => TierSource]>([
    ["Redis is down", "hot", () => "redis://127.0.0.1:1"],
    ["Redis is silent", "hot", () => (server.pause(), onTestFinished(() => server.resume()), server.url)],
    ["S3 is down", "cold", () => (login(), named(bucket.bucket, { endpoint: "http://127.0.0.1:1" }))],
    [
      "PostgreSQL is down",
      "replica",
      () => postgres({ url: "postgresql://127.0.0.1:1/db", retryFor: "50ms" }),
    ],
    ["PostgreSQL is down", "cold", () => postgres({ url: "postgresql://127.0.0.1:1/db", retryFor: "50ms" })],
    // Its primary may have made it right now. A replica that never follows costs time: the primary has everything.
    ["a replica has no such database yet", "replica", () => otherDatabase("/no_such_database")],
    ["a replica hasn't followed yet", "replica", () => otherDatabase("/postgres")],
  ])("%s: the stack opens without its %s tier, and says so", async (_name, role, sourceOf) => {
    const source = sourceOf();
    const events: TraceEvent[] = await tracedWhile(() => open(role, source));
    const unreachable = events.filter(({ type }) => type === "unreachable");
    expect(unreachable).toMatchObject([{ role, error: expect.any(StratigraphError) }]);
  });

  test("what was never opened is ended without an error", async () => {
    withoutPackage("@aws-sdk/client-s3");
    withoutPackage("ioredis");
    login();
    const config = { warm: new MemoryTier(), hot: shared.redis, cold: named(bucket.bucket), setup: false };
    const saver = await createCheckpointer(config);
    await saver.end();
    await saver.end();
  });
});
