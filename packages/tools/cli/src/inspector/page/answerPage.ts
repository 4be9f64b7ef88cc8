import { readFile } from "node:fs/promises";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const types: Readonly<Record<string, string>> = {
  css: "text/css; charset=utf-8",
  html: "text/html; charset=utf-8",
  ico: "image/x-icon",
  js: "text/javascript; charset=utf-8",
  json: "application/json",
  png: "image/png",
  svg: "image/svg+xml",
  woff2: "font/woff2",
};

/** Files beside index.html, and built files, whose names contain a hash of their contents. A request can read no others. */
const fileForm = /^\/(assets\/)?([\w-][\w.-]*\.(\w+))$/;

/** The folder of the page: beside the built package or, if this code runs from source, in the latest build. */
export function builtPage(): string {
  const besides = fileURLToPath(new URL("./page/", import.meta.url));
  return existsSync(join(besides, "index.html"))
    ? besides
    : fileURLToPath(new URL("../../../dist/page/", import.meta.url));
}

/** Answers with a file of the page. A path that isn't a file's is a view of the page, so it is answered with index.html. */
export async function answerPage(pathname: string, folder: string): Promise<Response> {
  const [, assets, name, ending] = fileForm.exec(pathname) ?? [];
  if (name !== undefined) {
    const type = types[ending!] ?? "application/octet-stream";
    const found = await contentsOf(join(folder, assets ?? "", name));
    // A hash in the name says that the contents never change.
    const caching = assets === undefined ? "no-cache" : "public, max-age=31536000, immutable";
    if (found !== undefined)
      return new Response(found, { headers: { "content-type": type, "cache-control": caching } });
    if (assets !== undefined) return text(404, "There is no such file.");
  }
  const index = await contentsOf(join(folder, "index.html"));
  if (index === undefined)
    return text(
      503,
      "The page of the inspector isn't built. In Stratigraph's repository: pnpm --filter @stratigraph/cli/inspector build",
    );
  return new Response(index, { headers: { "content-type": types["html"]!, "cache-control": "no-cache" } });
}

async function contentsOf(file: string): Promise<Uint8Array<ArrayBuffer> | undefined> {
  try {
    return await readFile(file);
  } catch {
    return undefined;
  }
}

function text(status: number, message: string): Response {
  const headers = { "content-type": "text/plain; charset=utf-8", "cache-control": "no-store" };
  return new Response(`${message}\n`, { status, headers });
}
