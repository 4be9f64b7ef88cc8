import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fail, pnpmArgs, root, run } from "./bootstrap.mjs";
import { packageFolders } from "./packageFolders.mjs";

/**
 * Packs `names` of packages and all of ours that they need, as they would be published, into a folder. Gives the
 * paths of the tarballs. Installed together they find each other, as they would in the registry. They must be built.
 */
export async function pack(folder, wanted) {
  const names = [...wanted];
  for (const name of names) {
    for (const dependency of Object.keys(manifest(name).dependencies ?? {})) {
      const ours = /^@stratigraph\/(.+)$/.exec(dependency)?.[1];
      if (ours !== undefined && !names.includes(ours)) names.push(ours);
    }
  }
  for (const name of names)
    if (!existsSync(join(root, packageFolders.get(name), "dist/index.js")))
      fail(`${packageFolders.get(name)} isn't built: run pnpm build first.`);
  const filters = names.map((name) => `--filter=./${packageFolders.get(name)}`);
  const code = await run("npx", pnpmArgs([...filters, "--recursive", "pack", "--pack-destination", folder]), {
    timeoutMs: 5 * 60_000,
    stdio: ["ignore", "ignore", "inherit"],
  });
  if (code !== 0) fail(`${names.join(", ")} can't be packed (pnpm ended with ${code}).`);
  return readdirSync(folder)
    .filter((file) => file.endsWith(".tgz"))
    .map((file) => join(folder, file));
}

function manifest(name) {
  return JSON.parse(readFileSync(join(root, packageFolders.get(name), "package.json"), "utf8"));
}
