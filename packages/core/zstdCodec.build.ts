import type { Rolldown } from "tsdown";

// dist/zstdCodec.cjs is zstd-codec in one file that asks for nothing: no __dirname, no require, no second package. As it is
// published, emscripten's loader asks for both where it sees Node, and an ES module made by a bundler has neither.

/** Both builds load the one file: 0.7 MB aren't shipped twice. */
export function zstdCodecApart(): Rolldown.Plugin {
  return {
    name: "zstd-codec-apart",
    resolveId: (id) =>
      id.endsWith("/zstdCodec.ts") ? { id: "./zstdCodec.cjs", external: "relative" } : undefined,
  };
}

/** Names by which emscripten's loader looks for its surroundings. It needs none: its WASM stands in it as text. */
const surroundings = [
  ...["process", "require", "__dirname", "__filename"],
  ...["window", "document", "self", "importScripts", "define"],
  ...["read", "readbuffer", "print", "printErr", "quit", "scriptArgs"],
];

/** Starts the WASM build without looking around, and leaves out the 1.3 MB for engines without WebAssembly. */
export function embeddedZstdCodec(): Rolldown.Plugin {
  return {
    name: "embedded-zstd-codec",
    transform(code, path) {
      const id = path.replaceAll("\\", "/");
      if (id.endsWith("zstd-codec/lib/module.js"))
        return `const start = require("./zstd-codec-binding-wasm.js");
exports.run = (done) => {
  const Module = { onRuntimeInitialized: () => done(Module) };
  start(Module);
};`;
      if (!id.endsWith("zstd-codec/lib/zstd-codec-binding-wasm.js")) return undefined;
      return `module.exports = (function (${surroundings.join(", ")}) {
const module = { exports: {} };
const exports = module.exports;
${code}
return module.exports;
})();`;
    },
  };
}
