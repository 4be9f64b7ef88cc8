/** What a load did. */
export interface Load {
  /** How many lines each thread has after each turn. */
  readonly lines: readonly number[][];
  /** How long each request took, in milliseconds. */
  readonly ms: readonly number[];
}

/**
 * Has every one of `threads` take so many turns, all at once, on processes of fixtures/serviceChild.ts. Every thread goes to the other
 * process each time, so that what it needs is in Redis, or in no memory of that process. As people do, it waits for its
 * next turn until the copies of this one were made.
 */
export async function load(addresses: readonly string[], threads: number, turns: number): Promise<Load> {
  const lines: number[][] = [];
  const ms: number[] = [];
  for (let turn = 0; turn < turns; turn += 1) {
    const answers = Array.from({ length: threads }, async (_, n) => {
      const began = performance.now();
      const address = addresses[(n + turn) % addresses.length]!;
      const answer = await fetch(`${address}/threads/t${n}/turns`, { method: "POST", body: "in" });
      const { lines } = (await answer.json()) as { lines: number };
      ms.push(performance.now() - began);
      return lines;
    });
    lines.push(await Promise.all(answers));
    await Promise.all(addresses.map((address) => fetch(`${address}/copied`)));
  }
  return { lines, ms };
}
