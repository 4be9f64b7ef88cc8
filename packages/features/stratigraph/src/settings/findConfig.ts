import { existsSync } from "node:fs";
import { dirname, join, resolve } from "node:path";

/** Names of config files, the first one that is there counts. */
export const configNames = ["ts", "mts", "js", "mjs", "json"].map((ending) => `stratigraph.config.${ending}`);

/** The config file of a folder or of one above it, up to the root of the repository. */
export function findConfig(from: string): string | undefined {
  for (let folder = resolve(from); ; folder = dirname(folder)) {
    const found = configNames.map((name) => join(folder, name)).find((file) => existsSync(file));
    if (found !== undefined) return found;
    if (existsSync(join(folder, ".git")) || dirname(folder) === folder) return undefined;
  }
}
