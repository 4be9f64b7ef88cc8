import { existsSync, readFileSync } from "node:fs";
import { join, posix } from "node:path";
import { expect, test } from "vitest";
import { documents, root } from "./documents.ts";

// Every link of a document to another place in the repository leads to a file that is there, and to a heading that is in it.
// The same goes for paths in code spans that begin at the repository's top folder and name a file or a folder.

test.each(documents)("links of %s lead somewhere", (document) => {
  expect(brokenLinks(document, readFileSync(join(root, document), "utf8"))).toEqual([]);
});

test.each(documents)("paths that %s names exist", (document) => {
  expect(missingPaths(readFileSync(join(root, document), "utf8"))).toEqual([]);
});

test("a path that doesn't exist is seen", () => {
  const text =
    "`packages/engine/core`, `packages/engine/core/src/nothing.ts`, `examples/*/main.ts`, `test/nothing`";
  expect(missingPaths(text)).toEqual(["packages/engine/core/src/nothing.ts", "test/nothing"]);
});

test("a link to a missing file or heading is seen", () => {
  const text =
    "[a](README.md) [b](nowhere.md) [c](README.md#guides) [d](README.md#nowhere) [e](#title)\n\n# Title\n";
  expect(brokenLinks("x.md", text)).toEqual(["nowhere.md", "README.md#nowhere"]);
});

function brokenLinks(document: string, text: string): string[] {
  const links = [...withoutFences(text).matchAll(/\]\(([^)\s]+)\)/g)].map(([, target = ""]) => target);
  return links.filter((target) => {
    if (/^[a-z]+:/.test(target)) return false;
    const [file = "", anchor] = target.split("#");
    const path = file === "" ? document : posix.join(posix.dirname(document), file);
    if (file !== "" && !existsSync(join(root, path))) return true;
    if (anchor === undefined) return false;
    return !anchorsOf(file === "" ? text : readFileSync(join(root, path), "utf8")).includes(anchor);
  });
}

function missingPaths(text: string): string[] {
  const spans = [...withoutFences(text).matchAll(/`((?:packages|test|examples|docs)\/[\w./-]+)`/g)];
  return spans.map(([, path = ""]) => path).filter((path) => !existsSync(join(root, path)));
}

/** Anchors of a document's headings, as GitHub makes them. */
function anchorsOf(text: string): string[] {
  return [...withoutFences(text).matchAll(/^#+ (.+)$/gm)].map(([, heading = ""]) =>
    heading
      .trim()
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N}\s_-]/gu, "")
      .replaceAll(" ", "-"),
  );
}

function withoutFences(text: string): string {
  return text.replaceAll(/^```.*?^```/gms, "");
}
