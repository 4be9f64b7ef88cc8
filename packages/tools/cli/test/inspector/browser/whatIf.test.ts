import { Annotation, interrupt, START, StateGraph } from "@langchain/langgraph";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import { on } from "../seeds/on.ts";
import { seed } from "../seeds/seed.ts";
import { inspecting } from "./support/inspecting.ts";
import { onPostgres, onStack, type Place } from "./support/places.ts";
import { openBeside, openTab } from "./support/tab.ts";

let place: Place;
beforeAll(async () => {
  place = await onStack();
  await seed(place.saver, ["trip", "stopped"]);
});
afterAll(() => place.close());

const write = ["read", "write", "destroy"] as const;
const cheapest = "trip to Lisbon/cheapest";

async function values(thread: string): Promise<Record<string, unknown>> {
  return (await place.saver.getTuple(on(thread)))!.checkpoint.channel_values;
}

test("from an edit to a merge: another strategy is tried in a fork, compared, merged back and undone", async () => {
  const { at } = await inspecting(place.saver, { allow: write });
  // Where the user asked, before the agent chose what to do.
  let asked = "";
  for await (const { checkpoint, metadata } of place.saver.list(on(cheapest)))
    if (metadata?.step === 5) asked = checkpoint.id;
  const page = await openTab(at(`/t/${encodeURIComponent(cheapest)}/c/${asked}`));
  await page.getByRole("link", { name: "What if" }).click();
  await page.getByRole("combobox", { name: "Channel" }).selectOption("strategy");
  await page.getByRole("textbox", { name: "New value" }).fill('"central"');
  await page.getByRole("combobox", { name: "Graph" }).selectOption("trip");
  await page.getByRole("button", { name: `Create ${cheapest}/what-if-1` }).click();
  const outcome = page.getByTestId("outcome");
  await page.getByRole("button", { name: /one step/i }).click();
  await outcome.getByText("Paused after one step").waitFor();
  await page.getByRole("button", { name: /to the end/i }).click();
  await outcome.getByText("Done").waitFor();
  expect(await values(`${cheapest}/what-if-1`)).toMatchObject({ place: "Hotel Baixa", price: 129 });
  expect(await values(cheapest)).toMatchObject({ price: 35 });

  await page.getByRole("link", { name: "Compare side by side" }).click();
  await page.getByRole("main").getByText("read_map").first().waitFor();
  await page.goBack();
  await page.getByRole("link", { name: "Merge back" }).click();
  const all = page.getByRole("combobox", { name: "For all channels" });
  await all.selectOption("theirs");
  const preview = page.getByRole("complementary", { name: "Preview of the merge" });
  await preview.getByRole("button", { name: /^Merge/ }).click();
  await expect.poll(async () => (await values(cheapest))["place"]).toBe("Hotel Baixa");
  await page.getByRole("button", { name: "Undo" }).first().click();
  await expect.poll(async () => (await values(cheapest))["place"]).toBe("Hostel Alfama (with breakfast)");
});

test("a question is answered in a fork, and the thread itself goes on waiting", async () => {
  const { at } = await inspecting(place.saver, { allow: write });
  const page = await openTab(at("/t/review%2Fridley"));
  await page.getByRole("link", { name: "Answer" }).click();
  await page.getByRole("combobox", { name: "Graph" }).selectOption("review");
  await page.getByRole("button", { name: /^Create/ }).click();
  await page.getByRole("textbox", { name: "Answer to approve" }).fill('"reject"');
  await page.getByRole("button", { name: "Answer and run on" }).click();
  await page.getByTestId("outcome").getByText("Done").waitFor();
  expect(await values("review/ridley/what-if-1")).toMatchObject({ decision: "reject" });
  expect(await values("review/ridley")).not.toHaveProperty("decision");
});

test("a question with a schema is a form: what doesn't fit is told in it, and nothing runs before", async () => {
  const schema = {
    type: "object",
    properties: {
      price: { type: "number", title: "Price", description: "In EUR", minimum: 3, maximum: 90 },
      by: { enum: ["rail", "air"], title: "By", default: "rail" },
      insured: { type: "boolean", title: "Insured" },
      seats: { type: "array", items: { enum: ["window", "aisle"] }, title: "Seats" },
      code: { type: "string", title: "Code", pattern: "^[A-Z]{2}$" },
      traveller: { type: "object", properties: { name: { type: "string" } }, required: ["name"] },
      extras: { type: "array", items: { type: "object" }, title: "Extras" },
    },
    required: ["price", "by", "insured", "traveller"],
    // What the form doesn't know: the server says it.
    not: { properties: { price: { const: 13 } } },
  };
  let runs = 0;
  const booking = new StateGraph(Annotation.Root({ trip: Annotation<unknown> }))
    .addNode("book", () => {
      runs += 1;
      return {
        trip: (interrupt as (...given: unknown[]) => unknown)("Which trip?", { responseSchema: schema }),
      };
    })
    .addEdge(START, "book")
    .compile({ checkpointer: place.saver });
  await booking.invoke({ trip: 0 }, on("booking"));
  const { at } = await inspecting(place.saver, {
    allow: write,
    graphs: ["booking"],
    graph: () => Promise.resolve(booking as never),
  });
  const page = await openTab(at("/whatif?at=booking&fork=booking&graph=booking"), { expected: [/400/] });
  const form = page.getByRole("form", { name: "Questions that wait" });
  const submit = form.getByRole("button", { name: "Answer and run on" });
  await submit.click();
  await form.getByText("An answer is needed here.").first().waitFor();
  expect(await form.getByText("An answer is needed here.").count()).toBe(3);
  await form.getByRole("textbox", { name: "Price" }).fill("2");
  await form.getByText("Expected: a number, at least 3, at most 90.").waitFor();
  await form.getByRole("textbox", { name: "Price" }).fill("13");
  expect(await form.getByRole("radio", { name: "rail" }).isChecked()).toBe(true);
  await form.getByRole("group", { name: "Insured" }).getByRole("radio", { name: "No" }).check();
  await form.getByRole("checkbox", { name: "aisle" }).check();
  await form.getByRole("textbox", { name: "Code (optional)" }).fill("ab");
  await form.getByText("Expected: matching ^[A-Z]{2}$.").waitFor();
  await form.getByRole("textbox", { name: "Code (optional)" }).fill("AB");
  await form.getByRole("textbox", { name: "traveller › name" }).fill("Ada");
  await submit.click();
  await form.getByText("Expected: what the schema's not says.").waitFor();
  await form.getByText("Expected: what the schema's not says.").waitFor();
  expect([runs, await form.getByRole("textbox", { name: "Price" }).inputValue()]).toEqual([1, "13"]);
  await form.getByRole("textbox", { name: "Price" }).fill("14.5");
  expect(await form.getByText("Expected: what the schema's not says.").count()).toBe(0);
  await form.getByRole("button", { name: "Answer in JSON instead" }).click();
  expect(await form.getByRole("textbox", { name: "Answer to book" }).inputValue()).toContain('"price": 14.5');
  await form.getByRole("button", { name: "Back to the form" }).click();
  await submit.click();
  await page.getByTestId("outcome").getByText("Done").waitFor();
  expect(await values("booking")).toMatchObject({
    trip: {
      price: 14.5,
      by: "rail",
      insured: false,
      seats: ["aisle"],
      code: "AB",
      traveller: { name: "Ada" },
    },
  });
});

test("without the right to write, what-if says how to get it, and the server refuses as well", async () => {
  const { at, url } = await inspecting(place.saver);
  const page = await openTab(at(`/whatif?at=${encodeURIComponent(cheapest)}`), { expected: [/403/] });
  await page.getByText("This inspector only reads").waitFor();
  expect(await page.getByRole("button", { name: /^Create/ }).isDisabled()).toBe(true);
  const token = new URLSearchParams(new URL(url).hash.slice(1)).get("token")!;
  const refused = await fetch(new URL("/api/fork", url), {
    method: "POST",
    headers: { "content-type": "application/json", "x-stratigraph-token": token },
    body: JSON.stringify({ at: cheapest }),
  });
  expect([refused.status, await refused.json()]).toMatchObject([403, { error: { code: "ACCESS_DENIED" } }]);
});

test("two tabs: a change in one appears in the other", async () => {
  const { at } = await inspecting(place.saver, { allow: write });
  const thread = "trip to Lisbon/central";
  const first = await openTab(at(`/t/${encodeURIComponent(thread)}`));
  const rows = first.getByRole("grid", { name: "History" }).getByRole("row");
  await rows.first().waitFor();
  const before = await rows.count();
  const second = await openBeside(
    first,
    at(
      `/t/${encodeURIComponent(thread)}/merge?from=${encodeURIComponent("trip to Lisbon/thorough")}&graph=trip`,
    ),
  );
  await second.getByRole("combobox", { name: "For all channels" }).selectOption("theirs");
  const merge = second
    .getByRole("complementary", { name: "Preview of the merge" })
    .getByRole("button", { name: /^Merge/ });
  await expect.poll(() => merge.isEnabled()).toBe(true);
  await merge.click();
  await expect.poll(() => rows.count()).toBeGreaterThan(before);
  await rows.first().getByText("head").waitFor();
});

test("if another tab has removed something, the page says so, and nothing is written", async () => {
  // Nothing is told to the page, as if it were done a moment before the click.
  const { at } = await inspecting(place.saver, { allow: write, pollMs: 3_600_000 });
  const fork = "trip to Lisbon/thorough";
  const path = `/t/${encodeURIComponent(cheapest)}/merge?from=${encodeURIComponent(fork)}&graph=trip`;
  const page = await openTab(at(path), { expected: [/404/] });
  await page.getByRole("combobox", { name: "For all channels" }).selectOption("theirs");
  const merge = page.getByRole("button", { name: "Merge", exact: true });
  await expect.poll(() => merge.isEnabled()).toBe(true);
  const before = await values(cheapest);
  await place.another().deleteThread(fork);
  await merge.click();
  await page.getByRole("alert").getByText(fork).first().waitFor();
  expect(await values(cheapest)).toEqual(before);
});

test("over PostgreSQL alone, a lost race is promoted and undone", async () => {
  const alone = await onPostgres();
  onTestFinished(() => alone.close());
  await seed(alone.saver, ["race"]);
  const { at } = await inspecting(alone.saver, { allow: write });
  const page = await openTab(at("/conflicts"));
  const item = page
    .getByRole("list", { name: "Side branches" })
    .getByRole("listitem")
    .filter({ hasText: "cart 88" });
  await item.getByRole("button", { name: "Both sides" }).click();
  await item.getByText("The side branch since").waitFor();
  await item.getByRole("button", { name: "Promote" }).click();
  await page
    .getByRole("dialog")
    .getByRole("button", { name: /^Promote/ })
    .click();
  const items = async () => (await alone.saver.getTuple(on("cart 88")))!.checkpoint.channel_values["items"];
  await expect.poll(items).toHaveLength(4);
  await page.getByRole("button", { name: "Undo" }).first().click();
  await expect.poll(items).toHaveLength(5);
});
