import type { TierSaver } from "@stratigraph/core";
import { createWorkspace } from "@stratigraph/workspace";

/** What three agents know of a trip: items that several of them changed, one that was deleted, and messages. */
export async function seedWorkspace(saver: TierSaver): Promise<void> {
  const name = "trip to Lisbon";
  const [planner, scout, critic] = ["planner", "scout", "critic"].map((agent) =>
    createWorkspace(saver, name, { agent }),
  );
  const days = ["Castle, and the old town", "Tram 28 to Belém", "Sintra"];
  await planner!.put(["plan"], "days", { days, nights: 4 }, { reason: "the user asked for four nights" });
  await planner!.put(["plan"], "budget", { euros: 900 });
  await planner!.topic("tasks").publish({ find: "a place to stay" });
  const hostel = { name: "Hostel Alfama", euros: 38, note: "Shared rooms. Breakfast is extra." };
  await scout!.put(["facts"], "stay", hostel, { reason: "the cheapest one" });
  await scout!.put(["facts", "weather"], "may", { degrees: 21 });
  await critic!.put(
    ["facts"],
    "stay",
    { name: "Pensão Graça", euros: 74, note: "Own rooms. Breakfast is included." },
    { reason: "the reviews of the hostel speak of noise" },
  );
  await critic!.put(["plan"], "days", { days: days.with(2, "Cascais, by train"), nights: 4 });
  await critic!.delete(["facts", "weather"], "may", { reason: "the plan doesn't need it" });
  await planner!.put(["files"], "/report.md", {
    text: "# Lisbon\n\nFour nights at the Pensão Graça, for 296 euros.",
  });
  await createWorkspace(saver, "research team", { agent: "writer" }).put(["notes"], "outline", { parts: 3 });
}
