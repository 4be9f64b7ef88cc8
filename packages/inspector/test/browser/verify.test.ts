import pg from "pg";
import { afterAll, beforeAll, test } from "vitest";
import { seed } from "../seeds/seed.ts";
import { inspecting } from "./support/inspecting.ts";
import { onPostgres, type Place } from "./support/places.ts";
import { openTab } from "./support/tab.ts";

let place: Place;
beforeAll(async () => {
  place = await onPostgres();
  await seed(place.saver, ["trip", "stopped"]);
  const pool = new pg.Pool({ connectionString: place.url, max: 1 });
  // One bit of one value, past every check.
  await pool.query(
    `update stratigraph.blobs set bytes = set_byte(bytes, length(bytes) - 6, get_byte(bytes, length(bytes) - 6) # 255)
     where ctid = (select b.ctid from stratigraph.blobs b join stratigraph.heads h on h.thread = b.thread
                   join stratigraph.checkpoints c on c.thread = h.thread limit 1)`,
  );
  await pool.end();
});
afterAll(() => place.close());

test("damage is found, and what a repair would do is told before it does it", async () => {
  const { at } = await inspecting(place.saver, { allow: ["read", "write", "destroy"] });
  const page = await openTab(at("/verify"));
  await page.getByRole("button", { name: "Verify" }).click();
  const findings = page
    .getByRole("grid", { name: "Findings" })
    .or(page.getByRole("table", { name: "Findings" }));
  await findings.getByRole("row").first().waitFor();
  await page.getByRole("checkbox", { name: /Also remove what/ }).check();
  await page.getByRole("button", { name: "Preview" }).click();
  await page
    .getByRole("table", { name: "Repairs" })
    .or(page.getByRole("grid", { name: "Repairs" }))
    .getByRole("row")
    .first()
    .waitFor();
});
