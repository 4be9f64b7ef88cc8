/** A piece of text that both versions have, or that one of them has. */
export interface TextChange {
  readonly kind: "same" | "removed" | "added";
  readonly text: string;
}

/** How many pieces may be removed and added before all between the common beginning and end counts as replaced: the search is quadratic. */
const mostEdits = 1000;

const lines = /[^\n]*\n|[^\n]+/g;
const words = /\s+|\S+/g;

/** What has to be removed from one text and added to it to get the other, by lines or by words. */
export function textDiff(from: string, to: string, by: "lines" | "words"): TextChange[] {
  const pieces = by === "lines" ? lines : words;
  const [before, after] = [from.match(pieces) ?? [], to.match(pieces) ?? []];
  let start = 0;
  while (start < before.length && start < after.length && before[start] === after[start]) start += 1;
  let [endBefore, endAfter] = [before.length, after.length];
  while (endBefore > start && endAfter > start && before[endBefore - 1] === after[endAfter - 1]) {
    endBefore -= 1;
    endAfter -= 1;
  }
  const found: TextChange[] = [];
  const add = (kind: TextChange["kind"], part: readonly string[]): void => {
    if (part.length === 0) return;
    const last = found.at(-1);
    const text = part.join("");
    if (last?.kind === kind) found[found.length - 1] = { kind, text: last.text + text };
    else found.push({ kind, text });
  };
  add("same", before.slice(0, start));
  for (const [kind, part] of edits(before.slice(start, endBefore), after.slice(start, endAfter)))
    add(kind, part);
  add("same", before.slice(endBefore));
  return found;
}

/** Myers' shortest edits. */
function edits(
  before: readonly string[],
  after: readonly string[],
): [TextChange["kind"], readonly string[]][] {
  const replaced: [TextChange["kind"], readonly string[]][] = [
    ["removed", before],
    ["added", after],
  ];
  if (before.length === 0 || after.length === 0) return replaced;
  const most = Math.min(before.length + after.length, mostEdits);
  // furthest[k]: how far `before` comes on diagonal k, which is the place in `before` less that in `after`.
  const furthest = new Int32Array(2 * most + 3);
  const middle = most + 1;
  const history: Int32Array[] = [];
  for (let edit = 0; edit <= most; edit += 1) {
    history.push(furthest.slice(middle - edit - 1, middle + edit + 2));
    for (let k = -edit; k <= edit; k += 2) {
      const down = k === -edit || (k !== edit && furthest[middle + k - 1]! < furthest[middle + k + 1]!);
      let x = down ? furthest[middle + k + 1]! : furthest[middle + k - 1]! + 1;
      while (x < before.length && x - k < after.length && before[x] === after[x - k]) x += 1;
      furthest[middle + k] = x;
      if (x >= before.length && x - k >= after.length) return pathOf(history, before, after);
    }
  }
  return replaced;
}

function pathOf(
  history: readonly Int32Array[],
  before: readonly string[],
  after: readonly string[],
): [TextChange["kind"], readonly string[]][] {
  const path: [TextChange["kind"], readonly string[]][] = [];
  let [x, y] = [before.length, after.length];
  for (let edit = history.length - 1; edit >= 0; edit -= 1) {
    const at = (k: number): number => history[edit]![k + edit + 1]!;
    const k = x - y;
    const down = k === -edit || (k !== edit && at(k - 1) < at(k + 1));
    const fromX = edit === 0 ? 0 : at(down ? k + 1 : k - 1);
    const fromY = edit === 0 ? 0 : fromX - (down ? k + 1 : k - 1);
    const sameFrom = edit === 0 ? 0 : down ? fromX : fromX + 1;
    path.push(["same", before.slice(sameFrom, x)]);
    if (edit > 0)
      path.push(
        down ? ["added", after.slice(fromY, fromY + 1)] : ["removed", before.slice(fromX, fromX + 1)],
      );
    [x, y] = [fromX, fromY];
  }
  return path.reverse();
}
