import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { packageFolders } from "./run/packageFolders.mjs";

/** The repository's top folder. */
export const root = join(import.meta.dirname, "..");

/** The documents of the repository, as paths from its top folder. */
export const documents: readonly string[] = [
  ...["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md"],
  ...markdownUnder("docs"),
  ...[...packageFolders.values()].flatMap((folder) => [`${folder}/README.md`, `${folder}/ERRORS.md`]),
].filter((path) => existsSync(join(root, path)));

function markdownUnder(folder: string): string[] {
  return readdirSync(join(root, folder), { recursive: true, encoding: "utf8" })
    .filter((name) => name.endsWith(".md"))
    .map((name) => `${folder}/${name}`);
}
