import { placeOfTtl, type Outlook } from "./returnTimes.ts";

/** How often the range of prices is halved, on a logarithmic scale: leaves one to seven digits. */
const steps = 32;
/** Prices to look among, in uses per byte and millisecond. */
const [lowestPrice, highestPrice] = [1e-24, 1e3];

/**
 * Chooses a time to live for each kind of threads, so that as many uses as possible find their copy, while all copies together take no
 * more than with one fixed `ttl` for all. Every kind is kept for as long as that brings more than its memory costs, at one price for
 * all: the lowest at which the whole stays within the budget. As far as the past tells, no choice is worse than the fixed `ttl`.
 * @returns for each outlook a time in milliseconds, or undefined where nothing is known
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

/** Which time to live brings the most for what it takes; the shortest among equals. */
function bestPlace({ found, taken }: Outlook, price: number): number {
  let [best, most] = [0, Number.NEGATIVE_INFINITY];
  for (const [place, hits] of found.entries()) {
    const value = hits - price * taken[place]!;
    if (value > most) [best, most] = [place, value];
  }
  return best;
}
