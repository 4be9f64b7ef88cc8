import { placeOfTtl, type Outlook } from "./returnTimes.ts";

/** How many times the range of prices is halved, on a logarithmic scale. The price is then exact to seven digits. */
const steps = 32;
/** The range of prices, in uses per byte and millisecond. */
const [lowestPrice, highestPrice] = [1e-24, 1e3];

/**
 * Chooses a time to live for each kind of threads, so that as many uses as possible find their copy, while all copies together take no more
 * than with one fixed `ttl` for all. Each kind is kept as long as that brings more than its memory costs. The price of memory is the same
 * for all kinds: the lowest at which all copies together stay within the budget. Judged by the past, no choice is worse than the fixed
 * `ttl`.
 * @returns for each outlook a time in milliseconds, or undefined if nothing is known
 */
export function chooseTtls(outlooks: readonly (Outlook | undefined)[]): readonly (number | undefined)[] {
  const known = outlooks.filter((outlook) => outlook !== undefined);
  const takenAt = (place: (outlook: Outlook) => number): number =>
    known.reduce((sum, outlook) => sum + outlook.taken[place(outlook)]!, 0);
  const budget = takenAt(() => placeOfTtl);
  let [low, high] = [lowestPrice, highestPrice];
  for (let step = 0; step < steps; step += 1) {
    const price = Math.sqrt(low * high);
    if (takenAt((outlook) => bestPlace(outlook, price)) > budget) low = price;
    else high = price;
  }
  const chosen = new Map(known.map((outlook) => [outlook, bestPlace(outlook, high)]));
  spend(budget - takenAt((outlook) => chosen.get(outlook)!), chosen, low);
  const foundAt = (place: (outlook: Outlook) => number): number =>
    known.reduce((sum, outlook) => sum + outlook.found[place(outlook)]!, 0);
  const isBetter = foundAt((outlook) => chosen.get(outlook)!) >= foundAt(() => placeOfTtl);
  return outlooks.map((outlook) => outlook?.ttlsMs[isBetter ? chosen.get(outlook)! : placeOfTtl]);
}

/** Spends what is left of the budget on kinds that a slightly lower price would keep longer. */
function spend(budget: number, chosen: Map<Outlook, number>, price: number): void {
  let left = budget;
  for (const [outlook, place] of chosen) {
    const { found, taken } = outlook;
    for (let longer = bestPlace(outlook, price); longer > place; longer -= 1) {
      const more = taken[longer]! - taken[place]!;
      if (more > left || found[longer] === found[place]) continue;
      chosen.set(outlook, longer);
      left -= more;
      break;
    }
  }
}

/** The place of the time to live whose uses exceed the cost of its memory the most; the shortest among equals. */
function bestPlace({ found, taken }: Outlook, price: number): number {
  let [best, most] = [0, Number.NEGATIVE_INFINITY];
  for (const [place, hits] of found.entries()) {
    const value = hits - price * taken[place]!;
    if (value > most) [best, most] = [place, value];
  }
  return best;
}
