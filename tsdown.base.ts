import type { Rolldown, UserConfig } from "tsdown";

/** Build shared by every package: ES modules, CommonJS and the declarations of both, Node 20.19. */
export const base: UserConfig = {
  entry: ["src/index.ts"],
  format: ["esm", "cjs"],
  platform: "node",
  target: "node20.19",
  dts: true,
  sourcemap: true,
  clean: true,
  // dist/index.js and dist/index.cjs: the packages say "type": "module".
  fixedExtension: false,
  // In the CommonJS build import() would load LangGraph's ES modules, whose classes aren't a CommonJS application's.
  // Comments are read by nobody there, and cost each process that reads the file some milliseconds.
  outputOptions: { dynamicImportInCjs: false, comments: { jsdoc: false, annotation: true, legal: true } },
  plugins: [optionalRequires()],
  // A library that package.json does not declare fails the build; it would be copied into dist, classes and all.
  deps: { onlyBundle: [] },
  logLevel: "error",
};

/**
 * Puts a try around every require() that was an import(). Bundlers leave a driver that isn't installed to run time only
 * where its require() stands in a try of the same function, and rolldown puts it into a function of its own.
 */
export function optionalRequires(): Rolldown.Plugin {
  const required =
    /Promise\.resolve\(\)\.then\(\(\) => ((?:\/\* @__PURE__ \*\/ )?__toESM\(require\("[^".][^"]*"\), 1\))\)/g;
  return {
    name: "optional-requires",
    renderChunk(code, _chunk, { format }) {
      if (format !== "cjs") return null;
      const wrapped = "Promise.resolve().then(() => { try { return $1; } catch (error) { throw error; } })";
      return { code: code.replaceAll(required, wrapped), map: null };
    },
  };
}
