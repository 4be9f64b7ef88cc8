import { defineConfig } from "vite";

/** Builds the page: everything it needs, in files beside index.html, and nothing from the network. */
export default defineConfig({
  root: `${import.meta.dirname}/page`,
  base: "/",
  // Fonts and images would be data URLs, which the page's own policy refuses.
  build: {
    outDir: "../dist/page",
    emptyOutDir: true,
    assetsInlineLimit: 0,
    target: "es2022",
    modulePreload: false,
    // One small file, rather than one for each view: a view is never shown before its styles are there.
    cssCodeSplit: false,
    rolldownOptions: {
      // What several views share is one file: many small ones take a tenth more, compressed, and each is a request of its own.
      output: { codeSplitting: { groups: [{ name: "shared", minShareCount: 3 }] } },
    },
  },
  oxc: { jsx: { runtime: "automatic", importSource: "preact" } },
  resolve: { conditions: ["@stratigraph/source", "module", "browser", "production"] },
});
