import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";

const page = join(import.meta.dirname, "../../../page");

test("a class has its styles in one file: all of them are built into one", () => {
  const files = readdirSync(page, { recursive: true, encoding: "utf8" }).filter((name) =>
    name.endsWith(".css"),
  );
  expect(files.length).toBeGreaterThan(20);
  const places = new Map<string, Set<string>>();
  for (const file of files) {
    const css = readFileSync(join(page, file), "utf8").replaceAll(/\/\*.*?\*\//gs, "");
    for (const [, selectors = ""] of css.matchAll(/([^{}]+)\{/g))
      for (const selector of selectors.split(",")) {
        const [, name] = /^\s*\.([\w-]+)/.exec(selector) ?? [];
        if (name !== undefined) places.set(name, (places.get(name) ?? new Set()).add(file));
      }
  }
  expect([...places].filter(([, of]) => of.size > 1).map(([name, of]) => [name, ...of])).toEqual([]);
});
