import { expect, test } from "vitest";
import { decodePart, encodePart, href, parse, search } from "../../../page/router.ts";

const hostile = [
  "a/b",
  "..",
  ".",
  "~",
  "~..",
  "...",
  "%2F",
  "100%",
  "a?b=c#d&e",
  "🐢",
  '"><script>',
  "  spaces  ",
  "__proto__",
  "calls",
  "c",
];

test("any thread and checkpoint comes back out of its address, also as a browser writes it", () => {
  for (const thread of hostile)
    for (const checkpoint of ["id", ".."]) {
      const path = href("checkpoint", { thread, checkpoint }, { tab: "diff", ns: "a|b:1" });
      // What a browser makes of the address: it resolves dots, and leaves what is encoded.
      const { pathname, search } = new URL(path, "http://127.0.0.1");
      const route = parse(pathname + search);
      expect(route).toMatchObject({ view: "checkpoint", params: { thread, checkpoint } });
      expect(Object.fromEntries(route.query)).toEqual({ tab: "diff", ns: "a|b:1" });
    }
  expect(parse(href("journal", { thread: "x" }))).toMatchObject({ view: "journal", params: { thread: "x" } });
  expect(parse(href("thread", { thread: "calls" })).view).toBe("thread");
});

test("parts that differ are encoded differently", () => {
  expect(new Set(hostile.map(encodePart)).size).toBe(hostile.length);
  expect(hostile.map(encodePart).map(decodePart)).toEqual(hostile);
  expect(encodePart("\uD800")).toBe(encodeURIComponent("\uFFFD"));
});

test("what is no address of a view is unknown, and nothing is thrown", () => {
  for (const url of ["/x", "/t", "/t/", "/t/%E0%A4%A", "/t/ada/c", "/t/ada/c/1/2"])
    expect(parse(url).view).toBe("unknown");
  expect(parse("/").view).toBe("threads");
  expect(parse("/?q=a%20b&filter=x%3D1&filter=y%3D2").query.getAll("filter")).toEqual(["x=1", "y=2"]);
  expect(parse("/conflicts/").view).toBe("conflicts");
});

test("queries leave out what is empty, and repeat what is a list", () => {
  expect(search({ a: "", b: undefined, c: null, d: [] })).toBe("");
  expect(search({ a: "x y", filter: ["u=1", "v=2"], n: 0 })).toBe("?a=x+y&filter=u%3D1&filter=v%3D2&n=0");
});
