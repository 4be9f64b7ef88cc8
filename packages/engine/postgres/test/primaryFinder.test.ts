import { setTimeout as sleep } from "node:timers/promises";
import { explainPostgresError } from "../src/connection/explainPostgresError.ts";
import { NoPrimaryError, PrimaryFinder } from "../src/connection/primaryFinder.ts";

test("a list without a primary is an outage that may pass, and not a wrong setting", async () => {
  const finder = new PrimaryFinder(["a", "b"], async () => ({ writable: false, timeline: 0 }));
  const error = await finder.find().catch((thrown: unknown) => thrown);
  expect(error).toBeInstanceOf(NoPrimaryError);
  expect(explainPostgresError(error, "postgres", 15_000)).toMatchObject({
    code: "UNAVAILABLE",
    retryable: true,
    message: expect.stringContaining("All 2 servers are standbys"),
  });
});

test("a primary far away on the latest timeline is waited for, though one of before answers at once", async () => {
  const finder = new PrimaryFinder(["old", "new"], async (url) => {
    if (url === "new") await sleep(400);
    return { writable: true, timeline: url === "new" ? 2 : 1 };
  });
  expect(await finder.find()).toBe("new");
});

test("a server that never answers is waited for only a while", async () => {
  const finder = new PrimaryFinder(["here", "silent"], async (url) => {
    if (url === "silent") await new Promise(() => undefined);
    return { writable: true, timeline: 1 };
  });
  expect(await finder.find()).toBe("here");
});

test("a server on an earlier timeline than was seen was the primary before, and is never taken again", async () => {
  const timelines = new Map([
    ["old", 1],
    ["new", 2],
  ]);
  const finder = new PrimaryFinder(["old", "new"], async (url) => {
    const timeline = timelines.get(url);
    if (timeline === undefined) throw new Error("away");
    return { writable: true, timeline };
  });
  expect(await finder.find()).toBe("new");
  timelines.delete("new");
  await expect(finder.find()).rejects.toThrow("is on timeline 1, and this process has seen 2");
  timelines.set("old", 3);
  expect(await finder.find()).toBe("old");
});
