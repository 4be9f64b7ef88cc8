import { createHash, randomBytes } from "node:crypto";
import { cp, mkdtemp } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fastFolder } from "./fastFolder.ts";
import { query } from "./postgres.ts";
import { askRegistry } from "./registry.ts";
import { s3Request, type S3Login } from "./s3Request.ts";

/** URL of the PostgreSQL that all test files share; fsync is off. */
export async function sharedPostgres(): Promise<string> {
  return (
    process.env["STRATIGRAPH_TEST_POSTGRES_URL"] ?? ((await askRegistry("postgres")) as { url: string }).url
  );
}

export interface FreshDatabase {
  url: string;
  /** Drops the database, even if connections are open. */
  drop(): Promise<void>;
}

/** Creates an empty database on the shared PostgreSQL (about 40 ms). */
export async function freshDatabase(): Promise<FreshDatabase> {
  const server = await sharedPostgres();
  const name = unique("t");
  // Nobody connects to template0, so files that start at the same time don't wait for each other.
  await query(server, `create database ${name} template template0`);
  const url = new URL(server);
  url.pathname = `/${name}`;
  return {
    url: url.href,
    drop: async () => {
      // A connection that is being closed comes to its end by itself. Cut off, it would be an error of a pool that nobody listens to.
      const sessions = "select count(*)::integer as n from pg_stat_activity where datname = $1";
      const end = Date.now() + 1000;
      while ((await query(server, sessions, [name]))[0]!["n"] !== 0 && Date.now() < end) await sleep(20);
      await query(server, `drop database if exists ${name} with (force)`);
    },
  };
}

/**
 * A folder for an embedded database, which has PostgreSQL's own files and nothing of ours: opening it takes half a second, and writing
 * these files two seconds. Remove it in the end.
 */
export async function embeddedFolder(): Promise<string> {
  const { url } = (await askRegistry("embedded")) as { url: string };
  const folder = await mkdtemp(join(fastFolder(), "stratigraph-embedded-"));
  await cp(url, join(folder, "data"), { recursive: true });
  return folder;
}

export interface SharedRedis {
  url: string;
  /** A prefix for every key, which no other test file has. It has no characters that patterns treat specially. */
  prefix: string;
  /** A busy machine may hold a command up for longer than the default allows. */
  commandTimeout: "1m";
}

/** The Redis that all test files share. Never flush it. */
export async function sharedRedis(): Promise<SharedRedis> {
  const url =
    process.env["STRATIGRAPH_TEST_REDIS_URL"] ?? ((await askRegistry("redis")) as { url: string }).url;
  return { url, prefix: `${unique("t")}:`, commandTimeout: "1m" };
}

/** The address of the Chromium that all test files share, for Playwright's `connectOverCDP`. Contexts keep tests apart. */
export async function sharedChromium(): Promise<string> {
  return ((await askRegistry("chromium")) as { url: string }).url;
}

/** The folder with the built page of the inspector. */
export async function sharedPage(): Promise<string> {
  return ((await askRegistry("page")) as { url: string }).url;
}

/** The S3 server that all test files share. */
export async function sharedS3(): Promise<S3Login> {
  const endpoint = process.env["STRATIGRAPH_TEST_S3_ENDPOINT"];
  if (endpoint === undefined) return (await askRegistry("s3")) as S3Login;
  return {
    endpoint,
    accessKey: process.env["STRATIGRAPH_TEST_S3_ACCESS_KEY"] ?? "",
    secretKey: process.env["STRATIGRAPH_TEST_S3_SECRET_KEY"] ?? "",
    region: process.env["STRATIGRAPH_TEST_S3_REGION"] ?? "us-east-1",
  };
}

export interface FreshBucket extends S3Login {
  bucket: string;
  /** Removes the bucket with its objects. */
  drop(): Promise<void>;
}

/** Creates an empty bucket on the shared S3 server. */
export async function freshBucket(): Promise<FreshBucket> {
  const login = await sharedS3();
  const bucket = unique("t").replaceAll("_", "-");
  await expectOk(s3Request(login, "PUT", `/${bucket}`));
  return { ...login, bucket, drop: () => dropBucket(login, bucket) };
}

async function dropBucket(login: S3Login, bucket: string): Promise<void> {
  for (;;) {
    const page = await (
      await expectOk(s3Request(login, "GET", `/${bucket}?encoding-type=url&list-type=2`))
    ).text();
    const listed = [...page.matchAll(/<Key>(.*?)<\/Key>/gs)].map(([, key]) => key ?? "");
    if (listed.length === 0) break;
    const keys = listed.map((key) => decodeURIComponent(key.replaceAll("+", "%20")));
    // A request of its own for each would take longer than many a test; XML can't hold every key, though.
    const isPlain = (key: string) => /^[\w/.=%-]+$/.test(key);
    const plain = keys.filter(isPlain);
    if (plain.length > 0) await removeAll(login, bucket, plain);
    for (const key of keys)
      if (!isPlain(key)) await expectOk(s3Request(login, "DELETE", `/${bucket}/${signable(key)}`));
  }
  await expectOk(s3Request(login, "DELETE", `/${bucket}`));
}

async function removeAll(login: S3Login, bucket: string, keys: readonly string[]): Promise<void> {
  const objects = keys.map((key) => `<Object><Key>${key}</Key></Object>`).join("");
  const body = `<Delete><Quiet>true</Quiet>${objects}</Delete>`;
  const headers = { "content-md5": createHash("md5").update(body).digest("base64") };
  const answer = await (await expectOk(s3Request(login, "POST", `/${bucket}?delete=`, body, headers))).text();
  if (answer.includes("<Error>")) throw new Error(`the objects of ${bucket} can't be removed: ${answer}`);
}

/** Signatures want the slashes as they are, and everything else unusual encoded. */
function signable(key: string): string {
  const strict = (part: string) =>
    encodeURIComponent(part).replaceAll(/[!'()*]/g, (c) => `%${c.charCodeAt(0).toString(16).toUpperCase()}`);
  return key.split("/").map(strict).join("/");
}

async function expectOk(request: Promise<Response>): Promise<Response> {
  const response = await request;
  if (!response.ok) throw new Error(`${response.url}: ${response.status} ${await response.text()}`);
  return response;
}

function unique(prefix: string): string {
  return `${prefix}_${process.pid}_${randomBytes(6).toString("hex")}`;
}
