import { expect, test } from "vitest";
import { commandText } from "../../../page/design/commandText.ts";

test("what a shell would interpret is quoted", () => {
  expect(commandText("compare", ["ada@head~3", "a b", "it's", "$(x)"])).toBe(
    String.raw`stratigraph compare ada@head~3 'a b' 'it'\''s' '$(x)'`,
  );
});

test("a text that begins with a dash is no option of a copied command", () => {
  const evil = "--config=./evil.mjs";
  expect(commandText("show", ["ada"], { namespace: "a", all: true, tag: ["b", "c"], path: "" })).toBe(
    "stratigraph show ada --namespace a --all --tag b --tag c",
  );
  expect(commandText("show", ["ada", evil], { namespace: evil, all: false })).toBe(
    `stratigraph show --namespace='${evil}' -- ada '${evil}'`,
  );
});
