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
