import { subscribe, unsubscribe } from "node:diagnostics_channel";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { chmod, mkdir, mkdtemp, readdir, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TraceEvent } from "@stratigraph/core";
import { s3Request } from "../../../../test/servers/s3Request.ts";
import { explainFolderError } from "../src/explainFolderError.ts";
import { folder, FolderSaver, S3Saver, s3 } from "../src/index.ts";
import { clientOf, openBucket } from "./support/bucket.ts";
import { put } from "./support/puts.ts";

// What can't heal by itself fails when the storage is opened, with a code that says what to change.

let open: Awaited<ReturnType<typeof openBucket>>;
let path: string;
beforeAll(async () => {
  open = await openBucket();
});
beforeEach(async () => {
  path = await mkdtemp(join(tmpdir(), "stratigraph-errors-"));
});
afterEach(async () => {
  vi.unstubAllEnvs();
  await rm(path, { recursive: true, force: true });
});
afterAll(() => open.close());

const says = (text: string) => expect.stringContaining(text) as string;

describe("S3", () => {
  test("a bucket that isn't there, a wrong secret, an unknown key", async () => {
    const { client, bucket, login } = open;
    await expect(s3({ client, bucket: "no-such-bucket" }).setup()).rejects.toMatchObject({
      code: "NOT_SET_UP",
      message: says("doesn't exist"),
    });
    for (const wrong of [{ secretKey: "wrong" }, { accessKey: "wrong" }]) {
      const denied = clientOf({ ...login, ...wrong });
      await expect(s3({ client: denied, bucket }).setup()).rejects.toMatchObject({
        code: "ACCESS_DENIED",
        retryable: false,
        message: says("Check the credentials"),
      });
      denied.destroy();
    }
  });

  test("no region, and no credentials", async () => {
    vi.stubEnv("AWS_EC2_METADATA_DISABLED", "true");
    vi.stubEnv("AWS_CONFIG_FILE", join(path, "none"));
    vi.stubEnv("AWS_SHARED_CREDENTIALS_FILE", join(path, "none"));
    for (const name of ["AWS_REGION", "AWS_DEFAULT_REGION", "AWS_PROFILE"]) vi.stubEnv(name, undefined);
    vi.stubEnv("AWS_ACCESS_KEY_ID", "key");
    vi.stubEnv("AWS_SECRET_ACCESS_KEY", "secret");
    const placeless = S3Saver.fromUrl("s3://bucket/prefix");
    await expect(placeless.setup()).rejects.toMatchObject({ code: "MISCONFIGURED", message: says("Region") });
    await placeless.end();
    for (const name of ["AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"]) vi.stubEnv(name, undefined);
    const query = new URLSearchParams({ endpoint: open.login.endpoint, region: open.login.region });
    const nobody = S3Saver.fromUrl(`s3://${open.bucket}/prefix?${query}`);
    await expect(nobody.setup()).rejects.toMatchObject({
      code: "ACCESS_DENIED",
      message: says("credentials"),
    });
    await nobody.end();
  });

  test("an endpoint that is no S3 server", async () => {
    const server = createServer((_, answer) => answer.writeHead(200).end("<html>Welcome</html>"));
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const client = clientOf({
      ...open.login,
      endpoint: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    });
    await expect(s3({ client, bucket: open.bucket }).setup()).rejects.toMatchObject({
      code: "MISCONFIGURED",
    });
    client.destroy();
    server.closeAllConnections();
    server.close();
  });

  test.each(["PutObject", "GetObject", "ListBucket", "DeleteObject"])(
    "a user who has no right to %s",
    async (right) => {
      const other = await openBucket();
      const arn = `arn:aws:s3:::${other.bucket}`;
      const policy = {
        Version: "2012-10-17",
        Statement: [{ Effect: "Deny", Principal: "*", Action: `s3:${right}`, Resource: [arn, `${arn}/*`] }],
      };
      try {
        await s3Request(other.login, "PUT", `/${other.bucket}?policy=`, JSON.stringify(policy));
        await expect(s3({ client: other.client, bucket: other.bucket }).setup()).rejects.toMatchObject({
          code: "ACCESS_DENIED",
          message: says(`refused to ${right.replace(/(Object|Bucket)$/, "").toLowerCase()} objects`),
        });
      } finally {
        await s3Request(other.login, "DELETE", `/${other.bucket}?policy=`);
        await other.close();
      }
    },
  );

  test("a quota that is used up is STORAGE_FULL, at the first request", async () => {
    let sent = 0;
    // As MinIO says it; Ceph's quotas take minutes to count.
    const send = async () => {
      sent += 1;
      throw Object.assign(new Error("minimum free drive threshold"), {
        name: "XMinioStorageFull",
        $metadata: { httpStatusCode: 507 },
      });
    };
    await expect(
      s3({ client: { send }, bucket: "b" }).append(put("t", "a", undefined, 10)),
    ).rejects.toMatchObject({ code: "STORAGE_FULL", retryable: false });
    expect(sent).toBe(1);
  });

  test("a URL's options are checked when it is read", () => {
    expect(() => S3Saver.fromUrl("s3://bucket?timeout=0s")).toThrow(/at least 1ms/);
  });
});

describe("a folder", () => {
  const methods = async (place: string): Promise<PromiseSettledResult<unknown>[]> => {
    const tier = folder({ path: place });
    const ends = await Promise.allSettled([
      tier.setup(),
      tier.peek({ threadId: "t", namespace: "" }),
      tier.append(put("t", "a", undefined, 10)),
    ]);
    await tier.end();
    return ends;
  };

  test("a file in the place of the folder, of a folder above it, or of a thread's", async () => {
    await writeFile(join(path, "file"), "");
    for (const place of ["file", "file/below"]) {
      const ends = await methods(join(path, place));
      for (const end of ends)
        expect(end).toMatchObject({ reason: { code: "MISCONFIGURED", message: says(place) } });
    }
    await writeFile(join(path, "t"), "");
    const [setup, , append] = await methods(path);
    expect(setup!.status).toBe("fulfilled");
    expect(append).toMatchObject({ reason: { code: "MISCONFIGURED" } });
  });

  test("a folder that this user may not write to", async () => {
    const place = join(path, "mine");
    await mkdir(place);
    await chmod(path, 0o755);
    await chmod(place, 0o555);
    // root may write everywhere: as nobody it may not.
    const isRoot = process.geteuid?.() === 0;
    if (isRoot) process.seteuid!(65_534);
    try {
      const saver = new FolderSaver(place);
      await expect(saver.setup()).rejects.toMatchObject({
        code: "ACCESS_DENIED",
        retryable: false,
        data: { folder: place, systemCode: "EACCES" },
      });
      await saver.end();
    } finally {
      if (isRoot) process.seteuid!(0);
    }
  });

  test("a listing doesn't leave out what this user may not look at", async () => {
    const writer = folder({ path });
    await writer.append(put("t", "1", undefined, 100));
    await writer.end();
    await chmod(path, 0o755);
    const folders = (await readdir(path, { recursive: true, withFileTypes: true })).filter((each) =>
      each.isDirectory(),
    );
    // Names can be read, but nothing else of what is in these folders.
    for (const { parentPath, name } of folders.toReversed()) await chmod(join(parentPath, name), 0o444);
    const isRoot = process.geteuid?.() === 0;
    if (isRoot) process.seteuid!(65_534);
    try {
      const tier = folder({ path });
      const threads = async () => {
        for await (const _ of tier.threads({}));
      };
      await expect(threads()).rejects.toMatchObject({ code: "ACCESS_DENIED" });
      await tier.end();
    } finally {
      if (isRoot) process.seteuid!(0);
      for (const { parentPath, name } of folders) await chmod(join(parentPath, name), 0o755);
    }
  });

  test.each([
    ["ENOSPC", "STORAGE_FULL"],
    ["EROFS", "MISCONFIGURED"],
    ["EMFILE", "UNAVAILABLE"],
  ])("%s is %s", (systemCode, code) => {
    const error = explainFolderError(Object.assign(new Error(systemCode), { code: systemCode }), "/archive");
    expect(error).toMatchObject({ code, data: { folder: "/archive", systemCode } });
    expect(error.message).toContain("/archive");
  });

  test("setup leaves nothing behind", async () => {
    const tier = folder({ path });
    await tier.setup();
    expect(await readdir(join(path, ".work"))).toEqual([]);
    await tier.end();
  });
});

test.each(["S3", "a folder"])(
  "%s: end() lets calls finish, may be repeated, and refuses later ones; each call is traced",
  async (kind) => {
    const events: TraceEvent[] = [];
    const listen = (event: unknown) => events.push(event as TraceEvent);
    subscribe("stratigraph", listen);
    const { client, bucket } = open;
    const tier = kind === "S3" ? s3({ client, bucket, prefix: "end" }) : folder({ path });
    try {
      await tier.append(put("t0", "a", undefined, 100));
      await tier.append(put("t0", "b", "other", 100)).catch(() => undefined);
      for await (const _ of tier.list({ threadId: "t0" })) continue;
      const pages = tier.threads({});
      const under = ["t1", "t2"].map((id) => tier.append(put(id, "a", undefined, 90_000)));
      await Promise.all([tier.end(), tier.end()]);
      for (const call of under) expect((await call).heads[0]?.moved).toBe(true);
      const closed = { code: "CLOSED", data: { tier: tier.name } };
      await expect(tier.read({ threadId: "t1", namespace: "" })).rejects.toMatchObject(closed);
      await expect(pages.next()).rejects.toMatchObject(closed);
      await expect(tier.setup()).rejects.toMatchObject(closed);
      await tier.end();
    } finally {
      unsubscribe("stratigraph", listen);
    }
    const calls = events.flatMap((event) =>
      event.type === "call" && event.tier === tier.name
        ? [[event.method, event.threadId, (event.error as { code?: string } | undefined)?.code]]
        : [],
    );
    expect(calls).toEqual([
      ["append", "t0", undefined],
      ["append", "t0", "CHECKPOINT_CONFLICT"],
      ["list", "t0", undefined],
      ["append", expect.any(String), undefined],
      ["append", expect.any(String), undefined],
      ["read", "t1", "CLOSED"],
      ["threads", undefined, "CLOSED"],
      ["setup", undefined, "CLOSED"],
    ]);
    // The client was passed in, and stays open.
    if (kind === "S3")
      expect((await s3({ client, bucket, prefix: "end" }).peek({ threadId: "t1", namespace: "" })).head).toBe(
        "a",
      );
  },
);
