import { MemorySaver } from "@stratigraph/core";
import { expect, it } from "vitest";
import { createJournal, RolledBackError, transaction } from "../../src/index.ts";
import { booking, on } from "../support/booking.ts";

it("a rollback undoes each call by the function that it was made with", async () => {
  const saver = new MemorySaver();
  const journal = createJournal(saver);
  const undone: string[] = [];
  const graph = booking(saver, journal, [], (item) => ({ compensate: () => undone.push(item) }));
  await graph.invoke({ item: "flight" }, on("trip"));
  const rolledBack = transaction(
    saver,
    "trip",
    async (tx) => {
      for (const item of ["car", "insurance"]) await graph.invoke({ item }, tx.config);
      throw new Error("stop");
    },
    { journal },
  );
  await expect(rolledBack).rejects.toThrow(RolledBackError);
  expect(undone).toEqual(["insurance", "car"]);
});
