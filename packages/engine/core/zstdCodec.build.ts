import { brotliCompressSync } from "node:zlib";
import type { Rolldown } from "tsdown";

// dist/zstdCodec.js and dist/zstdCodec.cjs are zstd-codec in one file that asks for no other: no __dirname, no second package. As it is
// published, emscripten's loader asks for both where it sees Node, and an ES module made by a bundler has neither.

const [cjs, esm] = ["./zstdCodec.cjs", "./zstdCodec.js"];

/** Each build loads its own: Node reads a CommonJS file twice for an ES module, to find its exports, which takes 40 ms for this one. */
export function zstdCodecApart(): Rolldown.Plugin {
  return {
    name: "zstd-codec-apart",
    resolveId: (id) => (id.endsWith("/zstdCodec.ts") ? { id: cjs, external: "relative" } : undefined),
    renderChunk: (code, _chunk, { format }) =>
      format === "cjs" ? null : { code: code.replace(`import("${cjs}")`, `import("${esm}")`), map: null },
  };
}

/** Names by which emscripten's loader looks for its surroundings. It needs none: it is given its WASM. */
const surroundings = [
  ...["process", "require", "__dirname", "__filename"],
  ...["window", "document", "self", "importScripts", "define"],
  ...["read", "readbuffer", "print", "printErr", "quit", "scriptArgs"],
];

/** The WASM as it stands in emscripten's loader. */
const embeddedWasm = /"data:application\/octet-stream;base64,([\w+/=]+)"/;

/**
 * Starts the WASM build without looking around, and leaves out the 1.3 MB for engines without WebAssembly. The WASM stands in it
 * compressed: to read and decode it as it was took most of the start.
 */
export function embeddedZstdCodec(): Rolldown.Plugin {
  return {
    name: "embedded-zstd-codec",
    transform(code, path) {
      const id = path.replaceAll("\\", "/");
      if (id.endsWith("zstd-codec/lib/module.js"))
        return `import { brotliDecompressSync } from "node:zlib";
import { start, compressed } from "./zstd-codec-binding-wasm.js";
export const run = (done) => {
  const wasmBinary = brotliDecompressSync(Buffer.from(compressed, "base64"));
  const Module = { wasmBinary, onRuntimeInitialized: () => done(Module) };
  start(Module);
};`;
      if (!id.endsWith("zstd-codec/lib/zstd-codec-binding-wasm.js")) return undefined;
      const wasm = embeddedWasm.exec(code)?.[1];
      if (wasm === undefined) throw new Error("zstd-codec's loader has its WASM in another way");
      const compressed = brotliCompressSync(Buffer.from(wasm, "base64")).toString("base64");
      return `export const compressed = "${compressed}";
export const start = (function (${surroundings.join(", ")}) {
const module = { exports: {} };
const exports = module.exports;
${code.replace(embeddedWasm, '"data:application/octet-stream;base64,"')}
return module.exports;
})();`;
    },
  };
}
