import { MemorySaver } from "@stratigraph/core";
import { beforeAll, expect, test } from "vitest";
import { seed } from "../seeds/seed.ts";
import { inspecting } from "./support/inspecting.ts";
import { openTab } from "./support/tab.ts";

const saver = new MemorySaver();
beforeAll(() => seed(saver, ["support"]));

test("a question is answered after a preview, and is gone then; a read-only page can't answer", async () => {
  const reading = await inspecting(saver);
  const readOnly = await openTab(reading.at("/t/support%2F4712/calls"));
  const answer = { name: "Answer…" };
  await readOnly.getByRole("heading", { name: "1 open question" }).waitFor();
  expect(await readOnly.getByRole("button", answer).isDisabled()).toBe(true);
  const { at } = await inspecting(saver, { allow: ["read", "write"] });
  const page = await openTab(at("/t/support%2F4712/calls"));
  await page.getByRole("button", answer).click();
  const dialog = page.getByRole("dialog", { name: "Did refund happen?" });
  await dialog.getByRole("radio", { name: /It happened/ }).check();
  await dialog.getByLabel("Who answers").fill("ops");
  await dialog.getByRole("textbox", { name: "Result" }).fill("receipt 7");
  await dialog.getByText("This isn’t JSON").waitFor();
  await dialog.getByRole("textbox", { name: "Result" }).fill('"receipt 7"');
  await dialog.getByRole("button", { name: "Preview" }).click();
  await dialog.getByText("The call isn't made again").waitFor();
  await dialog.getByRole("button", { name: "Write the answer" }).click();
  await page.getByRole("heading", { name: "1 open question" }).waitFor({ state: "hidden" });
  await page.getByRole("button", { name: "Chain verified, 6 entries" }).waitFor();
  await page.getByRole("button", { name: /^refund/ }).click();
  const drawer = page.getByRole("dialog", { name: "refund" });
  await drawer.getByText("found to have happened, by an operator").waitFor();
  await drawer.getByText("by ops").waitFor();
});

test("why a message was made, from the call that it asks for", async () => {
  const { at } = await inspecting(saver);
  const page = await openTab(at("/t/support%2F4711/calls?tool=refund"));
  await page.getByRole("button", { name: /^refund/ }).click();
  await page.getByRole("link", { name: "Why was it made?" }).click();
  await page.getByRole("heading", { name: "Why", exact: true }).waitFor();
  await page.getByText("Can I get my money back?").waitFor();
  await page.getByRole("heading", { name: /Called look_up_order/ }).waitFor();
  await page.getByRole("heading", { name: /It asks for refund/ }).waitFor();
});

test("the storage is measured, checked and verified when somebody asks for it", async () => {
  const { at } = await inspecting(saver);
  const page = await openTab(at("/storage"));
  await page.getByText("Answers", { exact: true }).waitFor();
  await page.getByRole("button", { name: "Measure" }).click();
  await page.getByRole("list", { name: "Bytes by channel" }).getByText("messages").waitFor();
  await page.getByRole("button", { name: "Check" }).click();
  await page.getByText("durability").waitFor();
  await page.getByRole("link", { name: "Health" }).click();
  await page.getByRole("button", { name: "Verify" }).click();
  await page.getByText("Everything is there, whole and in order.").waitFor();
});
