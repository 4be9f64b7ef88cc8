import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

// Where the packages are: packages/<ring>/<name>. Node's own modules only: vitest's configuration imports this.

const root = fileURLToPath(new URL("../..", import.meta.url));

/** The folder of each package, from the repository's top folder: "core" is in "packages/engine/core". */
export const packageFolders = new Map(
  readdirSync(join(root, "packages")).flatMap((ring) =>
    readdirSync(join(root, "packages", ring))
      .filter((name) => existsSync(join(root, "packages", ring, name, "package.json")))
      .map((name) => [name, `packages/${ring}/${name}`]),
  ),
);
