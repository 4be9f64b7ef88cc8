import { MemorySaver, TierSaver } from "@stratigraph/core";
import { postgres } from "@stratigraph/postgres";
import { onTestFinished, test } from "vitest";
import { available } from "../../../../../../test/servers/available.ts";
import { startPostgres } from "../../../../../../test/servers/postgres.ts";
import { on } from "../seeds/on.ts";
import { seed } from "../seeds/seed.ts";
import { tripAgent } from "../seeds/trip.ts";
import { inspecting } from "./support/inspecting.ts";
import { openTab } from "./support/tab.ts";

test("the page says that the inspector is gone, and shows what is new once it is back", async () => {
  const saver = new MemorySaver();
  await seed(saver, ["race"]);
  const token = "the-same-token-as-before";
  const first = await inspecting(saver, { token });
  // What is asked of an inspector that is closing is refused with 503, and the browser's console tells of it.
  const page = await openTab(first.at("/"), {
    expected: [/ERR_CONNECTION_REFUSED|ERR_INCOMPLETE|ERR_CONNECTION_RESET|ERR_EMPTY|status of 503/],
  });
  await page.getByText("cart 88").waitFor();
  await first.close();
  await page.getByText("Connection lost, retrying").waitFor();
  await tripAgent(saver).invoke({ strategy: "plan" }, on("made meanwhile"));
  await inspecting(saver, { token, port: Number(new URL(first.url).port) });
  await page.getByText("Connection lost, retrying").waitFor({ state: "hidden" });
  await page.getByText("made meanwhile").waitFor();
});

test.skipIf(!available.postgres)(
  "the page says that the database is gone, and continues by itself once it is back",
  async () => {
    const server = await startPostgres();
    const saver = new TierSaver(postgres({ url: server.url, retryFor: "300ms" }));
    onTestFinished(async () => {
      await saver.end();
      await server.stop();
    });
    await saver.setup();
    await seed(saver, ["race"]);
    const { at } = await inspecting(saver);
    const page = await openTab(at("/"), { expected: [/503/] });
    const bar = page.getByRole("alert").filter({ hasText: /PostgreSQL/ });
    await page.getByText("cart 88").waitFor();
    await server.kill();
    await bar.first().waitFor();
    // Loaded data stays, and what is requested meanwhile shows the error.
    await page.getByText("cart 88").waitFor();
    await page.getByRole("link", { name: "cart 88" }).click();
    await page.getByText("UNAVAILABLE").first().waitFor();
    await server.start();
    await bar.first().waitFor({ state: "hidden" });
    await page.getByRole("grid", { name: "History" }).getByRole("row").first().waitFor();
    await tripAgent(saver).invoke({ strategy: "plan" }, on("made after"));
    await page.getByRole("link", { name: "Threads" }).first().click();
    await page.getByText("made after").waitFor();
  },
);
