import type { Page } from "playwright-core";

/** Waits until a view has loaded what it shows: nothing says that it is busy, for a moment. Its stream of events never ends. */
export async function settled(page: Page): Promise<void> {
  await page.getByRole("main").waitFor();
  const busy = page.locator("[aria-busy=true], .skeleton").first();
  await busy.waitFor({ state: "hidden" });
  await page.waitForTimeout(120);
  await busy.waitFor({ state: "hidden" });
}
