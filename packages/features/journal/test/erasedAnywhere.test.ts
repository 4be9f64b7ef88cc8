import { describe, expect, it } from "vitest";
import { TierSaver } from "@stratigraph/core";
import { createJournal, type EraseOptions, type Journal } from "../src/index.ts";
import { allRounds, inRounds } from "../../../../test/rounds.ts";
import { kinds, thread, written, type Erasing, type Place, type Written } from "./support/erasable.ts";
import { Life, type Death } from "./support/mortal.ts";

const everywhere = inRounds({ few: false, all: false, soak: true });

/** How many secrets are there. */
async function left(place: Place, secrets: readonly Uint8Array[]): Promise<number> {
  const bytes = await place.bytes();
  return secrets.filter((secret) => bytes.includes(Buffer.from(secret))).length;
}

/** What an erasure is asked for, and what it has to erase. */
function asked(from: Written, erasing: Erasing): [what: EraseOptions, secrets: readonly Uint8Array[]] {
  if (erasing === "a call with its repetition") return [{ call: from.call }, from.ofCall];
  if (erasing === "a call with nothing but small values") return [{ call: from.smallCall }, from.ofSmallCall];
  return [{ before: new Date(Date.now() + 3_600_000) }, from.ofAll];
}

/** A new process. */
const journalOn = ({ open, tiers }: Place): Journal => createJournal(open(tiers));

/** Erases in a process that may die. */
async function eraseIn(life: Life, { open, tiers }: Place, what: EraseOptions): Promise<boolean> {
  const journal = createJournal(open(tiers.map((tier) => life.of(tier))));
  return await journal.erase(thread, what).then(
    () => true,
    () => false,
  );
}

/** When a process dies: before and after each call that changes something. A death at any other call leaves what the next change finds. */
function deathsOf({ calls, changes }: Life, everywhere: boolean): Death[] {
  const before = everywhere ? calls.map((_, n) => n + 1) : changes;
  return [
    ...before.map((at) => ({ at, how: "before" as const })),
    ...changes.map((at) => ({ at, how: "after" as const })),
  ];
}

describe.each(kinds)("from $name", (kind) => {
  const every: readonly Erasing[] = [
    "all",
    "a call with its repetition",
    "a call with nothing but small values",
  ];

  it.each(allRounds ? every : kind.few)("is erased: %s, again after a kill at any step", async (erasing) => {
    const from = await written(kind);
    const [what, secrets] = asked(from, erasing);
    const filled = async (work: (place: Place) => Promise<void>): Promise<void> => {
      const place = await kind.open();
      await place.fill(from);
      await work(place).finally(() => place.close());
    };
    const life = new Life();
    await filled(async (place) => {
      expect(await left(place, secrets)).toBe(secrets.length);
      expect(await eraseIn(life, place, what)).toBe(true);
      expect(await left(place, secrets)).toBe(0);
      expect(await journalOn(place).verify(thread)).toMatchObject({ ok: true, erased: secrets.length });
    });
    for (const death of deathsOf(life, everywhere || (allRounds && kind.name === "memory")))
      await filled(async (place) => {
        const when = `${death.how} call ${death.at}, ${life.calls[death.at - 1]}`;
        await eraseIn(new Life(death), place, what);
        const told = await journalOn(place).verify(thread);
        if (told.ok && told.erased > 0)
          expect(await left(place, secrets), `${when}: verify says that all is erased`).toBe(0);
        expect(await eraseIn(new Life(), place, what)).toBe(true);
        expect(await left(place, secrets), when).toBe(0);
        const verified = await journalOn(place).verify(thread);
        expect(verified, when).toMatchObject({ ok: true, erased: secrets.length });
      });
  });
});

it("an archived thread that is opened without its archive isn't said to be erased, or empty", async () => {
  const kind = kinds.find(({ name }) => name === "an archive, where the thread is")!;
  const place = await kind.open();
  await place.fill(await written(kind));
  const journal = createJournal(new TierSaver(place.tiers[0]!));
  const evicted = { code: "EVICTED" };
  await expect(journal.erase(thread, { before: new Date() })).rejects.toMatchObject(evicted);
  await expect(journal.calls(thread)).rejects.toMatchObject(evicted);
  await expect(journal.trail(thread).next()).rejects.toMatchObject(evicted);
  await place.close();
});
