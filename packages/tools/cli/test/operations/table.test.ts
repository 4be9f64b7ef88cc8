import { readFileSync } from "node:fs";
import { join } from "node:path";
import { operations } from "../../src/operations/index.ts";
import { expect, test } from "vitest";
import { z } from "zod";

// What holds for every operation, whatever it does.

interface Schema {
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly description?: string;
  readonly items?: Schema;
}

const inputOf = (operation: (typeof operations)[number]) =>
  z.toJSONSchema(operation.input, { io: "input" }) as Schema;

test("names are one or two lower-case words, each of one operation", () => {
  const names = operations.map(({ name }) => name);
  expect(new Set(names).size).toBe(names.length);
  for (const name of names) expect(name).toMatch(/^[a-z]+(-[a-z]+)?$/);
});

test("the guide mentions each", () => {
  const guide = readFileSync(join(import.meta.dirname, "../../../../../docs/guides/command-line.md"), "utf8");
  const told = ({ name }: { name: string }) =>
    new RegExp(`\`(npx )?(stratigraph )?${name.replace("-", " ")}\\b`).test(guide);
  expect(operations.filter((operation) => !told(operation)).map(({ name }) => name)).toEqual([]);
});

describe.each(operations.map((operation) => [operation.name, operation] as const))("%s", (_, operation) => {
  test("is described, with every field of its input", () => {
    expect(operation.summary).toMatch(/^[A-Z].*\.$/);
    expect(operation.examples.length).toBeGreaterThan(0);
    for (const example of operation.examples)
      expect(example).toMatch(new RegExp(`^stratigraph ${operation.name.replace("-", " ")}\\b`));
    for (const [name, field] of Object.entries(inputOf(operation).properties ?? {}))
      expect(field.description, `the description of ${name}`).toMatch(/\S/);
    // A command line takes --no-… for the contrary of an option.
    expect(Object.keys(inputOf(operation).properties ?? {}).filter((name) => /^no[A-Z]/.test(name))).toEqual(
      [],
    );
  });

  test("its arguments are fields, and its schemas are JSON schemas", () => {
    const fields = Object.keys(inputOf(operation).properties ?? {});
    expect(fields).toEqual(expect.arrayContaining([...(operation.args ?? [])]));
    expect(() => z.toJSONSchema(operation.output, { io: "output" })).not.toThrow();
  });

  if (operation.effect === "destroy")
    test("can only tell what it would delete", () => {
      expect(Object.keys(operation.input.shape)).toContain("dryRun");
    });
});
