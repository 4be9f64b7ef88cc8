import { MemorySaver } from "@stratigraph/core";
import { expect, test } from "vitest";
import { seed } from "../seeds/seed.ts";
import { inspecting } from "./support/inspecting.ts";
import { openBeside, openTab } from "./support/tab.ts";

test("the token leaves the address, and the page says what is open and that it only reads", async () => {
  const { at } = await inspecting(new MemorySaver());
  const page = await openTab(at("/"));
  await page.getByText("postgresql://localhost/agents").waitFor();
  await page.getByText("Read-only").waitFor();
  await page.getByText("No threads yet").waitFor();
  expect(page.url()).toBe(new URL("/", at("/")).href);
});

test("a tab without a token asks for it, and another tab gives its own", async () => {
  const { at, url } = await inspecting(new MemorySaver());
  const address = new URL("/?q=ada", url).href;
  const page = await openTab(address, { expected: [/401/] });
  const form = page.getByRole("textbox", { name: "Address or token" });
  await form.fill("not-the-token-but-as-long");
  await page.getByRole("button", { name: "Open" }).click();
  await page.getByText("That isn't the token").waitFor();
  await form.fill(at("/"));
  await page.getByRole("button", { name: "Open" }).click();
  await page.getByRole("heading", { name: "Threads" }).waitFor();
  const beside = await openBeside(page, address);
  await beside.getByRole("heading", { name: "Threads" }).waitFor();
});

test("a tab that already shows the page takes the token from the printed address, and removes it there", async () => {
  const { at, url } = await inspecting(new MemorySaver());
  const plain = new URL("/", url).href;
  const page = await openTab(plain, { expected: [/401/] });
  await page.getByRole("textbox", { name: "Address or token" }).waitFor();
  await page.goto(at("/"));
  await page.getByText("No threads yet").waitFor();
  expect(page.url()).toBe(plain);
  const loaded = page.waitForEvent("load");
  await page.goto(at("/"));
  await loaded;
  await page.getByText("No threads yet").waitFor();
  expect(page.url()).toBe(plain);
});

test("keys move between the views, through lists and into the search, and ? lists them", async () => {
  const saver = new MemorySaver();
  await seed(saver, ["trip", "race"]);
  const { at } = await inspecting(saver);
  const page = await openTab(at("/"));
  const { keyboard } = page;
  await page.getByRole("grid", { name: "Threads" }).waitFor();
  await keyboard.press("?");
  const help = page.getByRole("dialog", { name: "Keyboard" });
  await help.getByText("Search threads").waitFor();
  await keyboard.press("Escape");
  await help.waitFor({ state: "hidden" });
  await keyboard.type("gc");
  await page.waitForURL("**/conflicts");
  await keyboard.type("gt");
  await page.waitForURL("**/");
  await keyboard.press("/");
  await keyboard.type("cart");
  await page.waitForURL("**/?q=cart");
  await keyboard.press("Enter");
  await keyboard.press("j");
  await keyboard.press("Enter");
  await page.waitForURL("**/t/cart%2088");
  const history = page.getByRole("grid", { name: "History" });
  await history.getByRole("row").first().waitFor();
  await history.focus();
  await keyboard.press("End");
  const last = history.getByRole("row", { selected: true });
  await last.getByText("input").waitFor();
  await keyboard.press("]");
  await last.getByText("start").waitFor();
  await page.goBack();
  await page.goBack();
  await expect.poll(() => page.url()).toContain("/?q=cart");
});
