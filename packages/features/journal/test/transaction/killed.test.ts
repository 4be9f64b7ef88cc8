import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { runChild } from "../../../../../test/servers/children.ts";
import { createJournal, transactions, type Journal } from "../../src/index.ts";
import { booking, on } from "../support/booking.ts";
import { savers, type OpenedSaver } from "../support/places.ts";
import { killPoints, type KilledOrders, type KillPoint } from "./killed.ts";

const script = join(import.meta.dirname, "killedChild.ts");
// One process at a time opens a database of PGlite, and memory isn't shared.
const shared = savers.filter(([name]) => name === "PostgreSQL" || name === "redis>postgres");

describe.each(shared)(
  "a process killed with SIGKILL in a transaction, on %s",
  { timeout: 60_000 },
  (_name, open) => {
    let folder: string;
    let opened: OpenedSaver;
    let journal: Journal;

    beforeAll(async () => {
      folder = mkdtempSync(join(tmpdir(), "transactions-"));
      opened = await open();
      journal = createJournal(opened.saver);
    });
    afterAll(async () => {
      await journal?.end();
      await opened?.close();
      rmSync(folder, { recursive: true, force: true });
    });

    /** Kills a process at a place, and gives what another one finds. */
    async function killed(die: KillPoint, thread: string) {
      const world = join(folder, thread);
      writeFileSync(world, "");
      const graph = booking(opened.saver, journal, []);
      await graph.invoke({ item: "flight" }, on(thread));
      const orders: KilledOrders = { place: opened.place!, thread, world, die };
      const { signal, stderr } = await runChild(script, [JSON.stringify(orders)]).exit;
      expect([signal, stderr]).toEqual(["SIGKILL", ""]);
      const lines = () =>
        readFileSync(world, "utf8")
          .split("\n")
          .filter((line) => line !== "");
      const told = { push: (line: string) => (writeFileSync(world, `${line}\n`, { flag: "a" }), 0) };
      // The tools of the process that recovers know how to undo calls.
      const recovering = createJournal(opened.saver);
      const again = booking(opened.saver, recovering, told);
      await again.invoke({ item: "elsewhere" }, on(`${thread}, elsewhere`));
      writeFileSync(
        world,
        `${lines()
          .filter((line) => !line.endsWith("elsewhere"))
          .join("\n")}\n`,
      );
      for await (const { tool } of recovering.unresolved(thread))
        expect(tool).toMatch(/^book|^stratigraph:compensate:/);
      const [left, ...others] = await transactions(opened.saver, thread, { journal: recovering });
      expect(others).toEqual([]);
      const booked = async () => (await graph.getState(on(thread))).values.booked as string[];
      return { left: left!, lines, booked };
    }

    const whole = ["receipt of flight", "receipt of hotel", "receipt of car"];
    const cancels = ["cancel car (receipt of car)", "cancel hotel (receipt of hotel)"];

    it.each(killPoints)("%s: what is left is found, and rolled back or committed", async (die) => {
      const { left, lines, booked } = await killed(die, `rolled back, ${die}`);
      const { alive, status } = await left.status();
      expect(alive).toBe(false);
      const hasMoved = die === "after the head moved";
      expect(await booked()).toEqual(hasMoved ? whole : ["receipt of flight"]);
      if (die === "before the head moves" || hasMoved) {
        expect(status).toBe("committing");
        // Whether it was committed isn't known before it is committed again.
        await expect(left.rollback()).rejects.toMatchObject({ code: "TRANSACTION_ENDED" });
        expect(await left.commit()).toBe(hasMoved ? "unchanged" : "fast-forward");
        expect(await booked()).toEqual(whole);
        expect(lines()).toEqual(["book hotel", "book car"]);
      } else {
        expect(status).toBe(die.startsWith("in the rollback") ? "rolling back" : "open");
        if (status === "rolling back")
          await expect(left.commit()).rejects.toMatchObject({ code: "TRANSACTION_ENDED" });
        const { undone, kept } = await left.rollback();
        expect(await booked()).toEqual(["receipt of flight"]);
        const done = lines();
        // No compensation happens twice. One that was killed in the middle is ambiguous, and reported instead.
        expect(done.filter((line, n) => done.indexOf(line) !== n)).toEqual([]);
        const ambiguous = kept.map(({ why, error }) => [why, error?.name]);
        switch (die) {
          case "after the fork":
            expect([done, undone, kept]).toEqual([[], [], []]);
            break;
          case "in the work":
            expect(done).toEqual(["book hotel", "book car", ...cancels]);
            expect(kept).toEqual([]);
            break;
          case "in the rollback, before the first compensation":
            expect(ambiguous).toEqual([["compensation failed", "AmbiguousOutcomeError"]]);
            expect(done).toEqual(["book hotel", "book car", cancels[1]]);
            break;
          case "in the rollback, before the thread is dropped":
            expect(done).toEqual(["book hotel", "book car", ...cancels]);
            expect(kept).toEqual([]);
            break;
          default:
            expect(ambiguous).toEqual([["compensation failed", "AmbiguousOutcomeError"]]);
        }
      }
    });

    it("after its work: it can be committed as well", async () => {
      const { left, lines, booked } = await killed("in the work", "committed");
      expect(await left.commit()).toBe("fast-forward");
      expect(await booked()).toEqual(whole);
      expect(lines()).toEqual(["book hotel", "book car"]);
      expect(await transactions(opened.saver, "committed", { journal })).toEqual([]);
    });
  },
);
