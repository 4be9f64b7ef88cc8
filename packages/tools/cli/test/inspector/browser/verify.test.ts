import pg from "pg";
import { afterAll, beforeAll, expect, test } from "vitest";
import { ran } from "../../operations/support/ran.ts";
import { seed } from "../seeds/seed.ts";
import { inspecting } from "./support/inspecting.ts";
import { onPostgres, type Place } from "./support/places.ts";
import { openTab } from "./support/tab.ts";

let place: Place;
beforeAll(async () => {
  place = await onPostgres();
  await seed(place.saver, ["trip", "stopped"]);
  const pool = new pg.Pool({ connectionString: place.url, max: 1 });
  // One byte of a value that only a head has, past every check.
  await pool.query(
    `update stratigraph.blobs set bytes = set_byte(bytes, length(bytes) - 6, get_byte(bytes, length(bytes) - 6) # 255)
     where ctid = (select b.ctid from stratigraph.blobs b
                   join stratigraph.heads h using (thread)
                   join stratigraph.checkpoints c on c.thread = h.thread and c.ns = h.ns and c.id = h.id
                   where h.ns = '' and position(b.hash in c.blobs) > 0
                     and not exists (select from stratigraph.checkpoints o
                                     where o.thread = c.thread and o.id <> c.id and position(b.hash in o.blobs) > 0)
                     and not exists (select from stratigraph.blobs o where o.thread = b.thread and o.base = b.hash)
                   limit 1)`,
  );
  await pool.end();
});
afterAll(() => place.close());

test("damage is found; what a repair would do is told, and done once that is confirmed", async () => {
  const { at } = await inspecting(place.saver, { allow: ["read", "write", "destroy"] });
  const page = await openTab(at("/verify"));
  await page.getByRole("button", { name: "Verify" }).click();
  const findings = page
    .getByRole("grid", { name: "Findings" })
    .or(page.getByRole("table", { name: "Findings" }));
  await findings.getByRole("row").first().waitFor();
  const dialog = page.getByRole("dialog", { name: /^Mend/ });
  const preview = page.getByRole("button", { name: "Preview" });
  const apply = page.getByRole("button", { name: "Apply…" });
  const table = (name: string) => page.getByRole("region", { name }).getByRole("row");
  await preview.click();
  await table("Repair").getByText("Set the head back").waitFor();
  expect(await damaged()).toBe(1);
  await apply.click();
  await dialog.getByRole("button", { name: "Mend" }).click();
  // It verifies again by itself: what stood after the head can't be read, and is there until somebody has it removed.
  await table("Done").getByText("Set the head back").waitFor();
  await page.getByRole("checkbox", { name: /Also remove what/ }).check();
  expect(await apply.isDisabled()).toBe(true);
  await preview.click();
  await apply.click();
  await dialog.getByText("are removed for good").waitFor();
  expect(await damaged()).toBe(1);
  await dialog.getByRole("button", { name: "Mend" }).click();
  await page.getByText("Everything is there, whole and in order.").waitFor();
  expect(await damaged()).toBe(0);
});

/** How many findings a verification by somebody else has. */
async function damaged(): Promise<number> {
  const { output } = await ran<{ findings: readonly unknown[] }>("verify", {}, place.another());
  return output.findings.length;
}
