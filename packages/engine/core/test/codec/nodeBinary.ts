import { execFile } from "node:child_process";
import { access, mkdir, rename, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { promisify } from "node:util";

const run = promisify(execFile);

/**
 * Path of a real Node binary, from <tmp>/stratigraph-node/<name>/; brought there by npm where it is missing.
 *
 * @param name folder, usually the major
 * @param version exact version to bring
 */
export async function nodeBinary(name: string, version: string): Promise<string> {
  const packageName = `node-${process.platform === "win32" ? "win" : process.platform}-${process.arch}`;
  const home = join(tmpdir(), "stratigraph-node", name);
  const binary = join(
    home,
    "node_modules",
    packageName,
    "bin",
    process.platform === "win32" ? "node.exe" : "node",
  );
  if (await exists(binary)) return binary;
  // Installed aside and moved, so that a test file running at the same time never sees half of it.
  const aside = `${home}.${process.pid}`;
  await mkdir(aside, { recursive: true });
  try {
    const options = ["--no-save", "--no-audit", "--no-fund", "--ignore-scripts"];
    await run("npm", ["install", ...options, "--prefix", aside, `${packageName}@${version}`], { cwd: aside });
    await mkdir(dirname(home), { recursive: true });
    if (!(await exists(binary))) {
      await rm(home, { recursive: true, force: true });
      await rename(aside, home);
    }
  } catch (cause) {
    if (await exists(binary)) return binary;
    const advice = `Install it by hand: npm install --prefix ${home} ${packageName}@${version}`;
    throw new Error(`Node ${version} is needed for this test, and npm could not bring it. ${advice}`, {
      cause,
    });
  } finally {
    await rm(aside, { recursive: true, force: true });
  }
  return binary;
}

async function exists(path: string): Promise<boolean> {
  return await access(path).then(
    () => true,
    () => false,
  );
}
