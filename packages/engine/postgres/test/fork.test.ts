import { chain, type CountedPages, grow, idOf, openCounted } from "./support/pages.ts";

let counted: CountedPages;

beforeAll(async () => {
  counted = await openCounted(["fork_1"]);
});
afterAll(() => counted.close());

async function forkHead(sourceId: string, targetId: string, checkpoints: number): Promise<void> {
  const tip = { namespace: "", checkpointId: idOf(checkpoints - 1), writes: [], ancestors: 0 };
  const { revision } = await counted.tier.outline(sourceId);
  const also = { records: [], blobs: [], heads: [] };
  const copied = await counted.tier.forkThread({ sourceId, targetId, seen: revision, tips: [tip], also });
  expect(copied).toEqual({ checkpoints: 1, bytes: 200 + chain * 400 });
  expect(await counted.tier.blobs(targetId)).toHaveLength(chain);
}

test.each(["new", "analysed", "analysed with many forks"] as const)(
  "what a fork costs the server is what goes along, however long the thread (%s)",
  async (state) => {
    const [short, long] = [`${state} short`, `${state} long`];
    await grow(counted.tier, short, chain);
    await grow(counted.tier, long, 10 * chain);
    if (state === "analysed with many forks")
      for (let n = 0; n < 100; n += 1) await counted.tier.copyThread(short, `${state} ${n}`);
    if (state !== "new") await counted.client.query("analyze");
    // Plans are cached per connection: the measured statement shall be planned with the present statistics.
    await counted.client.query("discard plans");
    await forkHead(short, `${short} fork`, chain);
    const least = counted.pages();
    await forkHead(long, `${long} fork`, 10 * chain);
    expect(counted.pages()).toBeLessThan(1.2 * least);
  },
);
