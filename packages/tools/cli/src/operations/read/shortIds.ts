/** Short ids have at least this many characters. */
const shortest = 8;

/**
 * The shortest beginnings by which ids differ, for a page of a listing that is sorted by id. Ids that begin alike are neighbours
 * there, so it is enough to compare each id with the ones before and after it.
 * @param ids the ids of a page in descending order, and the id after the page, if there is one
 * @param before the id before the page
 * @returns the short id of each
 */
export function shortIds(ids: readonly string[], before: string | undefined): Map<string, string> {
  const short = new Map<string, string>();
  for (const [n, id] of ids.entries()) {
    const neighbours = [n === 0 ? before : ids[n - 1], ids[n + 1]];
    const shared = Math.max(...neighbours.map((other) => sharedLength(id, other)));
    short.set(id, wholeCharacters(id, Math.max(shortest, shared + 1)));
  }
  return short;
}

function sharedLength(id: string, other = ""): number {
  const most = Math.min(id.length, other.length);
  let length = 0;
  while (length < most && id[length] === other[length]) length += 1;
  return length;
}

function wholeCharacters(id: string, length: number): string {
  const begin = id.slice(0, length);
  return begin.isWellFormed() ? begin : id.slice(0, length + 1);
}
