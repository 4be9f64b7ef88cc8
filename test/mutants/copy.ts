import { cpSync, existsSync, mkdtempSync, readdirSync, realpathSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { copyRepository } from "../run/copyRepository.mjs";
import { packageFolders } from "../run/packageFolders.mjs";

const root = join(import.meta.dirname, "../..");

/**
 * Makes a copy of the working tree, in which mutants are tried. Libraries are those that are installed in the tree. Our own packages,
 * to which pnpm makes relative links, are those of the copy.
 */
export function makeCopy(): string {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), "stratigraph-mutants-")));
  copyRepository(folder);
  const examples = readdirSync(join(root, "examples")).map((name) => join("examples", name));
  const members = [...packageFolders.values(), ...examples];
  for (const member of ["", ...members]) {
    const installed = join(member, "node_modules");
    if (!existsSync(join(root, installed)) || !existsSync(join(folder, member))) continue;
    cpSync(join(root, installed), join(folder, installed), {
      recursive: true,
      verbatimSymlinks: true,
      filter: (source) => !LEFT_OUT.includes(basename(source)),
    });
  }
  symlinkSync(join(root, "node_modules/.pnpm"), join(folder, "node_modules/.pnpm"));
  const core = realpathSync(join(folder, "node_modules/@stratigraph/core"));
  if (!core.startsWith(folder)) throw new Error(`the copy would test ${core}`);
  return folder;
}

/** The libraries themselves, and what tools keep. */
const LEFT_OUT = [".pnpm", ".cache", ".vite", ".vitest"];
