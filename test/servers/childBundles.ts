import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { isBuiltin } from "node:module";
import { dirname, join, relative } from "node:path";
import { pathToFileURL } from "node:url";
import { context, type BuildContext, type Plugin } from "esbuild";
import type { TestProject } from "vitest/node";
import { reachedBy } from "../run/testFiles.mjs";
import { BUNDLES } from "./childProgram.ts";

const root = join(import.meta.dirname, "../..");

/**
 * vitest's globalSetup: bundles every program that tests start (`*Child.ts`), once per run, if one of the run's files starts any. A bundled
 * child starts in 0.2 s; through tsx, which loads a thousand files one by one, it takes 1.2 s. childProgram.ts finds the bundles.
 */
export default async function childBundles(project: TestProject): Promise<(() => Promise<void>) | undefined> {
  // Rerun in watch mode with others, such a file's children go through tsx.
  if (!project.vitest.state.getPaths().some(startsChildren)) return undefined;
  const cache = join(root, "node_modules/.cache");
  mkdirSync(cache, { recursive: true });
  const folder = mkdtempSync(join(cache, "stratigraph-children-"));
  const bundling = await bundlesOf(["packages/*/*/test/**/*Child.ts", "test/**/*Child.ts"], folder);
  await bundling.rebuild();
  project.onTestsRerun(async () => {
    // If this fails, esbuild has printed why. Without bundles, children run through tsx, and only the broken one fails.
    await bundling.rebuild().catch(() => rmSync(folder, { recursive: true, force: true }));
  });
  // The processes of test files inherit it.
  process.env[BUNDLES] = folder;
  return async () => {
    await bundling.dispose();
    rmSync(folder, { recursive: true, force: true });
  };
}

/** Bundles of programs, by their patterns below the repository's top folder. Each `rebuild` writes them into a folder. */
export async function bundlesOf(programs: readonly string[], folder: string): Promise<BuildContext> {
  return await context({
    absWorkingDir: root,
    entryPoints: [...programs],
    outbase: root,
    outdir: folder,
    outExtension: { ".js": ".mjs" },
    bundle: true,
    splitting: true,
    format: "esm",
    platform: "node",
    target: "node20.19",
    // The last condition is Node's own, so that a library's files are the same as other libraries import.
    conditions: ["@stratigraph/source", "module-sync"],
    // Node reads what is shorter sooner: a child that loads LangGraph takes 0.27 s of CPU instead of 0.34.
    minifySyntax: true,
    minifyWhitespace: true,
    legalComments: "none",
    keepNames: true,
    sourcemap: true,
    sourcesContent: false,
    logLevel: "warning",
    plugins: [libraries, ownLocation],
  });
}

function startsChildren(path: string): boolean {
  return reachedBy(relative(root, path).replaceAll("\\", "/")).has("test/servers/childProgram.ts");
}

/**
 * LangChain's packages go into the bundles with all that they import, as they are hundreds of files. No other library here imports
 * them, so there is one copy of their classes. The other libraries may read files beside their own and stay where they are
 * installed: they are imported by the URL of what the importing package would get.
 */
const libraries: Plugin = {
  name: "libraries",
  setup(build) {
    build.onResolve({ filter: /^[^./]/ }, async ({ path, kind, resolveDir, importer, pluginData }) => {
      const bundled =
        OWN.test(path) || LANGCHAIN.test(path) || (INSTALLED.test(importer) && !COMMONJS.test(path));
      if (bundled || isBuiltin(path) || kind === "entry-point" || pluginData === libraries) return undefined;
      const found = await build.resolve(path, { kind, resolveDir, importer, pluginData: libraries });
      // A package that isn't installed fails when it is imported, as without a bundle.
      if (found.errors.length > 0) return { path, external: true };
      return { path: pathToFileURL(found.path).href, external: true };
    });
  },
};

const LANGCHAIN = /^(@langchain\/|(langchain|deepagents)(\/|$))/;
/** What deepagents imports that requires Node's modules, which a bundle of ES modules can't. */
const COMMONJS = /^(micromatch|fast-glob|yaml)$/;
const OWN = /^(@stratigraph\/|stratigraph(\/|$))/;
const INSTALLED = /[/\\]node_modules[/\\]/;

/** Has `import.meta` refer to the source file instead of the bundle. */
const ownLocation: Plugin = {
  name: "own-location",
  setup(build) {
    build.onLoad({ filter: /\.ts$/ }, async ({ path }) => {
      const source = await readFile(path, "utf8");
      if (!source.includes("import.meta.")) return undefined;
      const own: Record<string, string> = {
        url: pathToFileURL(path).href,
        dirname: dirname(path),
        filename: path,
      };
      const contents = source.replaceAll(/\bimport\.meta\.(\w+)/g, (found, name: string) => {
        const value = own[name];
        if (value === undefined) throw new Error(`childBundles.ts can't bundle ${found} of ${path}`);
        return JSON.stringify(value);
      });
      return { contents, loader: "ts" };
    });
  },
};
