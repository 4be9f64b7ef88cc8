import { openCheckpointer } from "stratigraph/internal";
import { expect, test } from "vitest";
import { openTier } from "../src/openTier.ts";
import { postgresUrl } from "../src/urls.ts";

// A URL takes the options of its storage as a query. What nobody listens to is refused, without showing the URL.

test.each([
  ["postgresql://u:secret@h/db?schem=x", "schem", "Did you mean schema?"],
  ["postgresql://u:secret@h/db?maxCalls=many", "maxCalls", "Write a whole number."],
  ["postgresql://u:secret@h/db?schema=public", "schema", "leave it out"],
  ["postgresql://u:secret@h/db?schema=a&schema=b", "schema", "Write it once."],
  ["postgresql://u:secret@h/db?connection_limit=5", "connection_limit", "It may have"],
  ["redis://:secret@h?tll=15m", "tll", "ttl"],
  ["s3://bucket/prefix?regoin=eu", "regoin", "region"],
  ["pglite:./x?ttl=1d", "ttl", "schema"],
  ["file:./x?schema=y", "schema", "It has none."],
  ["memory:?maxSize=1mb", "maxSize", "It has none."],
])("%s is refused", (url, parameter, advice) => {
  const open = () => openCheckpointer(url);
  expect(open).toThrow(parameter);
  expect(open).toThrow(advice);
  expect(open).not.toThrow("secret");
});

test("options and what the driver understands are told apart", () => {
  const url =
    "postgresql://u:p%40@a:1,b:2/db?sslmode=require&schema=agents&application_name=x%20y&retryFor=3s&maxCalls=5";
  expect(postgresUrl("url", url)).toEqual({
    server: "postgresql://u:p%40@a:1,b:2/db?sslmode=require&application_name=x+y",
    options: { schema: "agents", retryFor: "3s", maxCalls: 5 },
  });
});

test("in the role of a cache, memory takes limits", () => {
  expect(openTier("hot", "memory:?maxSize=1mb&forgetAfter=5m", "hot").name).toBe("memory");
  expect(() => openTier("hot", "memory:?maxSize=many", "hot")).toThrow("maxSize");
});
