import { chain, type CountedPages, grow, idOf, openCounted } from "./support/pages.ts";
import { allRounds } from "../../../../test/rounds.ts";

let counted: CountedPages;

beforeAll(async () => {
  counted = await openCounted(["read_1", "list_1", "ancestry_1"]);
  await grow(counted.tier, "long", 10 * chain);
});
afterAll(() => counted.close());

/** Pages visited by a read of the head, by a list of sixteen checkpoints, and by the ancestry down to the first one. */
async function costs(): Promise<number[]> {
  // Plans are cached per connection: the measured statement shall be planned with the present statistics.
  await counted.client.query("discard plans");
  const at = { threadId: "long", namespace: "" };
  await counted.tier.read(at);
  const costs = [counted.pages()];
  const listed: unknown[] = [];
  for await (const checkpoint of counted.tier.list({ threadId: "long", limit: 16 })) listed.push(checkpoint);
  expect(listed).toHaveLength(16);
  costs.push(counted.pages());
  const line = await counted.tier.ancestry({ ...at, checkpointId: idOf(10 * chain - 1) }, [5], 1000);
  expect(line).toHaveLength(10 * chain - 1);
  costs.push(counted.pages());
  return costs;
}

/** Forks share ids and hashes with their source, which makes statistics about both misleading. */
test.runIf(allRounds)(
  "what a read costs the server doesn't grow with the forks of a thread, whatever statistics say",
  async () => {
    const alone = await costs();
    for (let n = 0; n < 100; n += 1) await counted.tier.copyThread("long", `copy ${n}`);
    const unanalysed = await costs();
    await counted.client.query("analyze");
    const analysed = await costs();
    for (const [n, least] of alone.entries()) {
      expect(unanalysed[n], `${n}`).toBeLessThan(1.5 * least + 20);
      expect(analysed[n], `${n}`).toBeLessThan(1.5 * least + 20);
    }
  },
);
