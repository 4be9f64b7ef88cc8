import { spawn } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import type { Terminal } from "./terminal.ts";

/** The program that opens a page, by platform. */
const openers: Partial<Readonly<Record<NodeJS.Platform, readonly [string, ...string[]]>>> = {
  darwin: ["open"],
  win32: ["explorer.exe"],
};

/**
 * Opens a page in the user's browser. If that fails, it says so, and nothing else happens. All users of a machine can see the arguments of
 * programs, and the address contains a token. So the browser gets a file that redirects to the address, and that only this user can read.
 * @returns a function that removes the file
 */
export async function openBrowser(url: string, { stderr }: Terminal): Promise<() => Promise<void>> {
  const folder = await mkdtemp(join(tmpdir(), "stratigraph-"));
  const file = join(folder, "inspector.html");
  await writeFile(file, redirectTo(url), { mode: 0o600 });
  const [program, ...args] = openers[process.platform] ?? ["xdg-open"];
  const child = spawn(program, [...args, pathToFileURL(file).href], { detached: true, stdio: "ignore" });
  child.once("error", () =>
    stderr.write(`No browser was opened, as there is no ${program}: open the address yourself.\n`),
  );
  child.unref();
  return () => rm(folder, { recursive: true, force: true });
}

function redirectTo(url: string): string {
  const address = url.replaceAll("&", "&amp;").replaceAll('"', "&quot;").replaceAll("<", "&lt;");
  return `<!doctype html>
<meta charset="utf-8">
<meta name="referrer" content="no-referrer">
<meta http-equiv="refresh" content="0; url=${address}">
<title>Stratigraph</title>
<p><a href="${address}">To the inspector</a></p>
`;
}
