import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { documents, root } from "./documents.ts";

// Code in the documents is code that is type-checked and run: a fence that begins with `// file: <path>`, or
// `// file: <path>#<region>`, holds the text of that file, or of the part between `// #region <region>` and
// `// #endregion`. Indentation that the whole part shares does not count.

const found = documents.flatMap((path) => fencesOf(path, readFileSync(join(root, path), "utf8")));

describe("fences of the documents", () => {
  test.each(found)("$document: $file $region", ({ file, region, text }) => {
    expect(/^(examples|packages|test)\//.test(file), `${file} is not type-checked`).toBe(true);
    expect(text).toBe(part(readFileSync(join(root, file), "utf8"), region));
  });

  test("the README's first code is taken from a file, and is short", () => {
    const readme = readFileSync(join(root, "README.md"), "utf8");
    const first = /^```ts\n(.*?)^```/ms.exec(readme)?.[1] ?? "";
    expect(first).toMatch(/^\/\/ file: /);
    expect(first.trimEnd().split("\n").slice(1).length).toBeLessThanOrEqual(20);
  });
});

test("a fence that differs from its file is seen", () => {
  const [fence] = fencesOf("x.md", "text\n```ts\n// file: examples/a.ts#one\nconst a = 1;\n```\n");
  expect(fence).toEqual({ document: "x.md", file: "examples/a.ts", region: "one", text: "const a = 1;" });
  const file = "{\n  // #region one\n  const a = 1;\n  // #endregion\n  const b = 2;\n}\n";
  expect(part(file, "one")).toBe("const a = 1;");
  expect(part(file.replace("1", "3"), "one")).not.toBe(fence?.text);
  expect(() => part(file, "two")).toThrow("no region two");
});

function fencesOf(document: string, text: string) {
  return [...text.matchAll(/^```ts\n\/\/ file: *([^\s#]+)(?:#(\S+))? *\n(.*?)^```/gms)].map(
    ([, file = "", region = "", code = ""]) => ({ document, file, region, text: dedent(code) }),
  );
}

function part(file: string, region: string): string {
  if (region === "") return dedent(file);
  const lines = file.split("\n");
  const start = lines.findIndex((line) => line.trim() === `// #region ${region}`);
  if (start === -1) throw new Error(`no region ${region}`);
  const length = lines.slice(start + 1).findIndex((line) => line.trim().startsWith("// #endregion"));
  return dedent(lines.slice(start + 1, length === -1 ? undefined : start + 1 + length).join("\n"));
}

function dedent(text: string): string {
  const lines = text.replaceAll(/^\n+|\s+$/g, "").split("\n");
  const indents = lines
    .filter((line) => line.trim() !== "")
    .map((line) => line.length - line.trimStart().length);
  const shared = Math.min(...indents, Infinity);
  return lines.map((line) => (line.trim() === "" ? "" : line.slice(shared))).join("\n");
}
