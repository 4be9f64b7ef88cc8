import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { afterAll, beforeAll, expect, test } from "vitest";
import { buildPage } from "./support/buildPage.ts";
import { sendRaw, serve, type Served } from "./support/serve.ts";

/** Most that all files of the page take, and that it loads before it shows something; each file gzipped, in bytes. */
const budgetBytes = { all: 124_000, first: 65_000 };

let folder: string;
let served: Served;

beforeAll(async () => {
  const outer = await mkdtemp(join(tmpdir(), "stratigraph-page-"));
  folder = join(outer, "page");
  await buildPage(folder);
  await writeFile(join(outer, "secret.js"), "a secret");
  await mkdir(join(folder, "assets", "inner"));
  await writeFile(join(folder, "assets", "inner", "secret.js"), "a secret");
  await writeFile(join(folder, "assets", ".secret.js"), "a secret");
  served = await serve({ pageFolder: folder });
});

afterAll(async () => {
  await served.inspector.close();
  await rm(join(folder, ".."), { recursive: true });
});

/** The files that index.html names, and what these import at once: all that is loaded before something is shown. */
async function loaded(): Promise<string[]> {
  const found = new Set<string>();
  const add = async (file: string): Promise<void> => {
    if (found.has(file)) return;
    found.add(file);
    const text = await readFile(join(folder, file), "utf8");
    if (file.endsWith(".html"))
      for (const [, path] of text.matchAll(/(?:src|href)="\/([^"]+)"/g)) await add(path!);
    if (!file.endsWith(".js")) return;
    for (const [, name] of text.matchAll(/(?:^|[;\n}])import(?:[^"'()]*?from)?["']\.\/([^"']+)["']/g))
      await add(`assets/${name}`);
  };
  await add("index.html");
  return [...found];
}

test("the page fits its budget, and so does what it loads first", async () => {
  const bytesOf = async (files: readonly string[]): Promise<number> => {
    const sizes = await Promise.all(
      files.map(async (file) => gzipSync(await readFile(join(folder, file)), { level: 9 }).length),
    );
    return sizes.reduce((sum, size) => sum + size, 0);
  };
  const first = await loaded();
  const built = (await readdir(join(folder, "assets"))).filter((name) => /-[\w-]{8}\.(?:js|css)$/.test(name));
  const all = ["index.html", ...built.map((name) => `assets/${name}`)];
  expect(all).toEqual(expect.arrayContaining(first));
  expect(first.some((file) => file.endsWith(".js"))).toBe(true);
  expect(await bytesOf(all)).toBeLessThan(budgetBytes.all);
  expect(await bytesOf(first)).toBeLessThan(budgetBytes.first);
});

test("files have their types; those whose names are hashes are kept for good", async () => {
  const files = await loaded();
  for (const file of files.filter((each) => each.startsWith("assets/"))) {
    const { status, headers, text } = await sendRaw(served.origin, { path: `/${file}` });
    expect(status).toBe(200);
    expect(text).toBe(await readFile(join(folder, file), "utf8"));
    expect(headers["cache-control"]).toContain("immutable");
    expect(headers["content-type"]).toMatch(file.endsWith(".css") ? /^text\/css/ : /^text\/javascript/);
  }
});

test("any other path is a view, so it is answered with the page, which is asked for anew each time", async () => {
  const index = await readFile(join(folder, "index.html"), "utf8");
  const paths = [
    "/",
    "/t/ada",
    "/t/a%2Fb",
    "/t/..%2F..",
    "/t/%E0%A4%A",
    "/none.txt",
    "/diff?a=1",
    "/apis",
    "/t/x.js",
  ];
  for (const path of paths) {
    const { status, headers, text } = await sendRaw(served.origin, { path });
    expect([path, status, text]).toEqual([path, 200, index]);
    expect(headers["cache-control"]).toBe("no-cache");
    expect(headers["content-type"]).toBe("text/html; charset=utf-8");
  }
  expect((await sendRaw(served.origin, { path: "/", method: "POST" })).status).toBe(405);
  expect((await sendRaw(served.origin, { path: "/", method: "HEAD" })).text).toBe("");
});

test("no path leads out of the page's folder", async () => {
  const paths = [
    "/../secret.js",
    "/assets/../../secret.js",
    "/%2e%2e/secret.js",
    "/assets/%2e%2e/%2e%2e/secret.js",
    "/assets/..%2f..%2fsecret.js",
    "/assets/..%5c..%5csecret.js",
    "/assets/..\\..\\secret.js",
    "/assets/inner/secret.js",
    "/assets/.secret.js",
    "//secret.js",
    "/assets//../../secret.js",
    "/assets/secret.js%00.js",
    `/${join(folder, "..", "secret.js")}`,
    "/assets/....//....//secret.js",
  ];
  for (const path of paths) {
    const { text } = await sendRaw(served.origin, { path });
    expect([path, text.includes("a secret")]).toEqual([path, false]);
  }
  expect((await sendRaw(served.origin, { path: "/assets/none.js" })).status).toBe(404);
});

test("if the page isn't built, the answer says how to build it", async () => {
  const without = await serve({ pageFolder: join(folder, "nowhere") });
  const { status, text } = await sendRaw(without.origin, { path: "/" });
  expect([status, text]).toEqual([503, expect.stringContaining("build")]);
  expect((await without.get("/api/_session")).status).toBe(200);
  await without.inspector.close();
});
