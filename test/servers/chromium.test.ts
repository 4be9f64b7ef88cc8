import { expect, test } from "vitest";
import { available } from "./available.ts";
import { startChromium } from "./chromium.ts";
import { isAlive } from "./process.ts";

test.skipIf(!available.chromium)("a Chromium opens a page, and ends when it is stopped", async () => {
  const server = await startChromium();
  try {
    const opened = await fetch(`${server.url}/json/new?about:blank`, { method: "PUT" });
    expect(await opened.json()).toMatchObject({ type: "page", url: "about:blank" });
    expect(isAlive(server.pid)).toBe(true);
  } finally {
    await server.stop();
  }
  expect(isAlive(server.pid)).toBe(false);
  // A script that had started it would have ended alone.
  await expect(fetch(`${server.url}/json/version`)).rejects.toThrow();
});
