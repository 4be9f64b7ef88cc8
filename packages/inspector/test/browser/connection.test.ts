import { MemorySaver } from "@stratigraph/core";
import { test } from "vitest";
import { on } from "../seeds/on.ts";
import { seed } from "../seeds/seed.ts";
import { tripAgent } from "../seeds/trip.ts";
import { inspecting } from "./support/inspecting.ts";
import { openTab } from "./support/tab.ts";

test("an inspector that dies and comes back is told of, and the page goes on with what is new", async () => {
  const saver = new MemorySaver();
  await seed(saver, ["race"]);
  const token = "the-same-token-as-before";
  const first = await inspecting(saver, { token });
  const page = await openTab(first.at("/"), {
    expected: [/ERR_CONNECTION_REFUSED|ERR_INCOMPLETE|ERR_CONNECTION_RESET|ERR_EMPTY/],
  });
  await page.getByText("cart 88").waitFor();
  await first.close();
  await page.getByText("Connection lost, retrying").waitFor();
  await tripAgent(saver).invoke({ strategy: "plan" }, on("made meanwhile"));
  await inspecting(saver, { token, port: Number(new URL(first.url).port) });
  await page.getByText("Connection lost, retrying").waitFor({ state: "hidden" });
  await page.getByText("made meanwhile").waitFor();
});
