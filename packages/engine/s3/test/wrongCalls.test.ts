import { existsSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { MemorySaver as OfficialMemorySaver } from "@langchain/langgraph-checkpoint";
import { folder, FolderSaver, PackTier, s3, S3Saver } from "@stratigraph/s3";
import { afterAll, describe, expect, test } from "vitest";
import { expectRefused } from "../../../../test/expectRefused.ts";

// Constructors and factories, called wrongly: refused with an error that names the field, says what was found and what to do, before
// a request is made or a folder is touched.

let sent = 0;
const client = {
  send: async () => {
    sent += 1;
  },
};
const at = { client, bucket: "agents" };
const path = mkdtempSync(join(tmpdir(), "stratigraph-"));
afterAll(() => rmSync(path, { recursive: true, force: true }));

function make(what: new (...args: never[]) => unknown, ...args: unknown[]): unknown {
  return Reflect.construct(what, args) as unknown;
}
function call(method: (...args: never[]) => unknown, ...args: unknown[]): unknown {
  return Reflect.apply(method, S3Saver, args) as unknown;
}
const fromUrl = (...args: unknown[]) => call(S3Saver.fromUrl, ...args);

const rows: readonly (readonly [name: string, work: () => unknown, field: string, says: string])[] = [
  ["s3(): nothing", () => call(s3), "client", "Pass an S3Client"],
  ["s3(): a URL", () => call(s3, "s3://agents"), "options", "takes an object of client, bucket"],
  ["s3(): region", () => call(s3, { ...at, region: "eu-central-1" }), "region", "belongs to the client"],
  ["s3(): Bucket", () => call(s3, { client, Bucket: "agents" }), "Bucket", "Write bucket"],
  ["s3(): prefx", () => call(s3, { ...at, prefx: "a" }), "prefx", "Did you mean prefix?"],
  ["s3(): a prefix that is no text", () => call(s3, { ...at, prefix: 5 }), "prefix", "Pass a string"],
  ["s3(): a timeout without a unit", () => call(s3, { ...at, timeout: 10 }), "timeout", "units"],
  ["s3(): no attempts", () => call(s3, { ...at, attempts: 0 }), "attempts", "1 or more"],
  [
    "s3(): tags that are a list",
    () => call(s3, { ...at, objectTags: ["app"] }),
    "objectTags",
    "Pass an object",
  ],
  [
    "s3(): a tag that is a number",
    () => call(s3, { ...at, objectTags: { app: 5 } }),
    "objectTags.app",
    "Pass a string",
  ],
  [
    "s3(): an unknown encryption",
    () => call(s3, { ...at, serverSideEncryption: "aws:kms" }),
    "serverSideEncryption",
    "{ kmsKeyId }",
  ],
  [
    "s3(): a short key",
    () => call(s3, { ...at, serverSideEncryption: { customerKey: new Uint8Array(16) } }),
    "serverSideEncryption.customerKey",
    "32 bytes",
  ],
  [
    "s3(): a key that is text",
    () => call(s3, { ...at, serverSideEncryption: { customerKey: "hunter2" } }),
    "serverSideEncryption.customerKey",
    "32 bytes",
  ],
  [
    "s3(): kmsKey",
    () => call(s3, { ...at, serverSideEncryption: { kmsKey: "hunter2" } }),
    "serverSideEncryption.kmsKey",
    "Did you mean kmsKeyId?",
  ],
  [
    "s3(): the saver's options",
    () => call(s3, { ...at, conflict: "throw" }),
    "conflict",
    "s3 has no such option",
  ],
  ["S3Saver: a URL", () => make(S3Saver, "s3://agents"), "client", "S3Saver.fromUrl(url)"],
  ["S3Saver: nothing", () => make(S3Saver), "client", "Pass an S3Client"],
  [
    "S3Saver: conflcit",
    () => make(S3Saver, { ...at, conflcit: "throw" }),
    "conflcit",
    "Did you mean conflict?",
  ],
  [
    "S3Saver: the tier's options after it",
    () => make(S3Saver, at, { prefix: "a" }),
    "prefix",
    "S3Saver has no such option",
  ],
  ["fromUrl: nothing", () => fromUrl(), "url", "s3://bucket/prefix"],
  ["fromUrl: another scheme", () => fromUrl("https://u:hunter2@bucket"), "url", "no S3 URL"],
  ["fromUrl: a login", () => fromUrl("s3://key:hunter2@bucket"), "url", "AWS_ACCESS_KEY_ID"],
  [
    "fromUrl: a misspelt parameter",
    () => fromUrl("s3://bucket?regoin=eu"),
    "url, regoin",
    "Did you mean region?",
  ],
  [
    "fromUrl: pathStyle that is neither",
    () => fromUrl("s3://bucket?pathStyle=1"),
    "url, pathStyle",
    "true or false",
  ],
  [
    "fromUrl: an endpoint that is none",
    () => fromUrl("s3://bucket?endpoint=localhost"),
    "url, endpoint",
    "Write a URL",
  ],
  ["fromUrl: a timeout without a unit", () => fromUrl("s3://bucket?timeout=10"), "url, timeout", "units"],
  [
    "fromUrl: region beside it",
    () => fromUrl("s3://bucket", { region: "eu" }),
    "region",
    "Write it into the URL",
  ],
  [
    "fromUrl: a client beside it",
    () => fromUrl("s3://bucket", { client }),
    "client",
    "new S3Saver({ client, bucket })",
  ],
  [
    "fromUrl: a wrong option of the tier",
    () => fromUrl("s3://bucket", { attempts: "4" }),
    "attempts",
    "whole number",
  ],
  ["folder(): text", () => call(folder, path), "options", "takes an object of path"],
  ["folder(): nothing", () => call(folder), "path", "Pass the path"],
  ["folder(): folder", () => call(folder, { folder: path }), "folder", "Write path"],
  ["FolderSaver: nothing", () => make(FolderSaver), "path", "Pass the path"],
  ["FolderSaver: pth", () => make(FolderSaver, { pth: path }), "pth", "Did you mean path?"],
  [
    "FolderSaver: conflcit",
    () => make(FolderSaver, path, { conflcit: "throw" }),
    "conflcit",
    "Did you mean conflict?",
  ],
  ["PackTier: a path", () => make(PackTier, path), "store", "s3() and folder()"],
  [
    "PackTier: cacheSize",
    () => make(PackTier, folder({ path }), { cacheSize: 5 }),
    "cacheSize",
    "cacheBytes",
  ],
  [
    "PackTier: a size with a unit",
    () => make(PackTier, folder({ path }), { cacheBytes: "5mb" }),
    "cacheBytes",
    "whole number of bytes",
  ],
];

test.each(rows.map(([name, ...row]) => ({ name, row })))(
  "refuses $name",
  async ({ row: [work, field, says] }) => {
    await expectRefused(work, field, says);
    expect(sent).toBe(0);
    expect(readdirSync(path)).toEqual([]);
  },
);

describe("right calls pass", () => {
  const { serde } = new OfficialMemorySaver();

  test("options beside the bucket, after a tier, beside a URL", () => {
    const options = {
      ...at,
      prefix: "a",
      timeout: "5s",
      attempts: 2,
      objectTags: { app: "agents" },
    } as const;
    expect(
      new S3Saver({ ...options, serde, serverSideEncryption: "AES256", storageClass: "STANDARD_IA" }).serde,
    ).toBe(serde);
    expect(new S3Saver({ ...at, serverSideEncryption: { kmsKeyId: "key", bucketKey: true } })).toBeInstanceOf(
      S3Saver,
    );
    expect(new S3Saver(s3(options), { serde, conflict: "throw" }).serde).toBe(serde);
    const url =
      "s3://bucket/a/b?region=eu-central-1&endpoint=http://localhost:9000&pathStyle=false&timeout=10s";
    expect(S3Saver.fromUrl(url, { serde, attempts: 2, prefix: "c" }).serde).toBe(serde);
    expect(new FolderSaver({ path, serde }).serde).toBe(serde);
    expect(new FolderSaver(path, { serde }).serde).toBe(serde);
    expect(existsSync(path)).toBe(true);
  });

  test("undefined is as good as absent", () => {
    expect(
      make(S3Saver, { ...at, region: undefined, prefix: undefined, objectTags: undefined }, undefined),
    ).toBeInstanceOf(S3Saver);
    expect(S3Saver.fromUrl("s3://bucket", undefined)).toBeInstanceOf(S3Saver);
    expect(make(FolderSaver, { path, conflict: undefined, colour: undefined })).toBeInstanceOf(FolderSaver);
  });
});
