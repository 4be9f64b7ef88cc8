/**
 * A chat in a browser, with LangGraph's own useStream, on a server of one's own: an answer streams, the page is reloaded in its midst, a
 * question is answered, a message is edited, and the server is killed twice. Nothing is lost, and nothing is there twice.
 */
import { strict as assert } from "node:assert";
import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { chromium } from "playwright-core";
import { chromiumBinary } from "../../test/servers/chromium.ts";
import { query, startPostgres } from "../../test/servers/postgres.ts";

const postgres = await startPostgres();
await query(postgres.url, "create database chat");
const DATABASE_URL = postgres.url.replace(/\/[^/?]*(\?|$)/, "/chat$1");
const browser = await chromium.launch({ executablePath: chromiumBinary()!, args: ["--no-sandbox"] });
let server: ChildProcess | undefined;

/** Starts the server, at the port that it had before. */
async function start(PORT = "0"): Promise<string> {
  const args = ["--import", "tsx", "--conditions=@stratigraph/source", "server.ts"];
  const env = { ...process.env, DATABASE_URL, PORT, PACE: "100" };
  server = spawn(process.execPath, args, {
    cwd: import.meta.dirname,
    env,
    stdio: ["ignore", "pipe", "inherit"],
  });
  const [line] = (await once(server.stdout!, "data")) as [Buffer];
  return String(line).trim();
}

async function kill(): Promise<void> {
  server!.kill("SIGKILL");
  await once(server!, "exit");
}

try {
  const address = await start();
  const page = await browser.newPage();
  page.setDefaultTimeout(60_000);
  await page.goto(address);
  const texts = async (): Promise<string[]> => await page.locator("p span").allTextContents();
  const shown = page.locator("p").filter({ hasText: "That is all." });
  const idle = page.locator("main[data-loading=false]");
  const send = async (text: string): Promise<void> => {
    await page.getByPlaceholder("Message").fill(text);
    await page.getByRole("button", { name: "Send" }).click();
  };
  const whole = (about: string): string =>
    `You asked: ${about} ${Array.from({ length: 12 }, (_, n) => `On day ${n + 1} you walk.`).join(" ")} That is all.`;

  // An answer streams, and the page is reloaded in its midst.
  await send("A week in Pisa?");
  await page.getByText("On day 2").waitFor();
  assert.ok(!(await texts()).at(-1)!.includes("That is all."), "the answer came at once");
  await page.reload();
  await shown.waitFor();
  await idle.waitFor();
  assert.deepEqual(await texts(), ["A week in Pisa?", whole("A week in Pisa?")]);
  console.log("The page was reloaded in the midst of an answer: it is whole, and there once.");

  // The server is killed in the midst of an answer, and started again.
  await send("And in Rome?");
  await page.getByText("You asked: And in Rome? On day 1 you walk. On day 2").waitFor();
  await kill();
  await start(new URL(address).port);
  await page.reload();
  await page.getByRole("button", { name: "Go on" }).click();
  await shown.nth(1).waitFor();
  await idle.waitFor();
  assert.deepEqual((await texts()).slice(2), ["And in Rome?", whole("And in Rome?")]);
  console.log("The server was killed in the midst of an answer: it was given after all, and is there once.");

  // A question waits for a person. The server is killed meanwhile.
  await send("Please book a train.");
  await page.getByText("Book the train for 20 EUR?").waitFor();
  await kill();
  await start(new URL(address).port);
  await page.reload();
  await page.getByRole("button", { name: "Yes" }).click();
  await page.getByText("It is booked.").waitFor();
  await idle.waitFor();
  assert.deepEqual((await texts()).slice(4), ["Please book a train.", "It is booked."]);
  console.log("The server was killed while a question waited: it was answered afterwards, once.");

  // A message is edited: a fork from just before it.
  const before = await texts();
  const chat = page.url();
  page.once("dialog", (dialog) => void dialog.accept("And in Bern?"));
  await page.getByRole("button", { name: "Edit" }).nth(1).click();
  await page.getByText("You asked: And in Bern?").waitFor();
  await shown.nth(1).waitFor();
  await idle.waitFor();
  assert.deepEqual(await texts(), [...before.slice(0, 2), "And in Bern?", whole("And in Bern?")]);
  assert.notEqual(page.url(), chat);
  await page.goto(chat);
  await page.reload();
  await page.getByText("It is booked.").waitFor();
  assert.deepEqual(await texts(), before);
  console.log("A message was edited: the chat goes on in a fork, and the first one is as it was.");
} finally {
  await browser.close();
  server?.kill("SIGKILL");
  await postgres.stop();
}
