import { spawn, spawnSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

// Runs before anything is installed: Node's own modules only, here and in all that test.mjs and start.mjs import.

/** The repository's top folder. */
export const root = fileURLToPath(new URL("../..", import.meta.url));

/** Ends the program with a message that says what to do. */
export function fail(message) {
  console.error(`\n${message}\n`);
  process.exit(1);
}

/** Makes sure that Node is new enough and that every dependency is installed as the lockfile says. */
export function bootstrap({ quiet = false } = {}) {
  const [major, minor] = process.versions.node.split(".").map(Number);
  if (major < 20 || (major === 20 && minor < 19))
    fail(`Stratigraph needs Node 20.19 or newer; this is ${process.version}.`);
  if (isInstalled()) return embed();
  console.log("Installing dependencies with pnpm (the first time takes about a minute) …");
  const result = spawnSync("npx", pnpmArgs(["install", "--frozen-lockfile"]), {
    cwd: root,
    stdio: quiet ? ["ignore", "pipe", "pipe"] : ["ignore", "inherit", "inherit"],
    encoding: "utf8",
    // Without a terminal pnpm asks nothing: a node_modules of another pnpm is replaced, not asked about.
    env: { ...process.env, CI: "true" },
    shell: process.platform === "win32",
  });
  if (result.error) fail(`npx cannot be started (${result.error.message}). npm must be on the PATH.`);
  if (result.status === 0) return embed();
  if (quiet) console.error(`${result.stdout}${result.stderr}`);
  fail(
    `Installing the dependencies failed (pnpm ended with ${result.status ?? result.signal}). The reason is above. ` +
      "Is the npm registry within reach (npm config get registry)?",
  );
}

/** Puts SQL and Lua into the sources, which aren't kept with them in git. */
function embed() {
  const { status, stderr } = spawnSync(process.execPath, [join(root, "test/run/embed.mjs")], {
    encoding: "utf8",
  });
  if (status !== 0) fail(`SQL and Lua can't be put into the sources:\n${stderr}`);
}

/** pnpm keeps a copy of the lockfile that it installed; a new package has no node_modules yet. */
function isInstalled() {
  const read = (path) => (existsSync(join(root, path)) ? readFileSync(join(root, path), "utf8") : undefined);
  const wanted = read("pnpm-lock.yaml");
  if (wanted === undefined) fail("pnpm-lock.yaml is missing: this is not a complete copy of the repository.");
  return (
    read("node_modules/.pnpm/lock.yaml") === wanted && existsSync(join(root, "node_modules/.modules.yaml"))
  );
}

/** Arguments of npx that run the pnpm pinned in package.json, on a machine that has only npm. */
export function pnpmArgs(args) {
  const { packageManager } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
  return ["--yes", packageManager, ...args];
}

const children = new Set();
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"])
  process.on(signal, () => {
    // Ctrl-C reaches the children as well; we stay until they have cleaned up.
    if (children.size === 0) process.exit(130);
    for (const child of children) child.kill(signal);
  });

/** Runs a program in the repository, its output going to ours; gives its exit code, or 1 when a signal ended it. */
export function run(command, args, { env = {}, timeoutMs, stdio = "inherit", cwd = root } = {}) {
  return new Promise((resolve) => {
    const child = spawn(command, args, { cwd, stdio, env: { ...process.env, ...env } });
    children.add(child);
    let late;
    const timer =
      timeoutMs === undefined
        ? undefined
        : setTimeout(() => {
            console.error(`\n${command} did not end within ${timeoutMs / 60_000} minutes and is stopped.`);
            child.kill("SIGTERM");
            late = setTimeout(() => child.kill("SIGKILL"), 10_000);
          }, timeoutMs);
    const done = (code) => {
      clearTimeout(timer);
      clearTimeout(late);
      children.delete(child);
      resolve(code);
    };
    child.once("error", (error) => {
      console.error(`cannot start ${command}: ${error.message}`);
      done(1);
    });
    child.once("close", (code) => done(code ?? 1));
  });
}

/** Runs a TypeScript program of the repository on the packages' sources. */
export function runTypeScript(path, args = [], options = {}) {
  return run(
    process.execPath,
    ["--import", "tsx", "--conditions=@stratigraph/source", path, ...args],
    options,
  );
}
