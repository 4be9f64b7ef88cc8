/** How many lines are compared with each other. Above that, all of them count as changed. */
const maxCompared = 2000;

/**
 * The lines that differ between two texts, with "- " and "+ " before them. Values that have nothing to do with the change aren't shown: they may be
 * other servers' secrets.
 */
export function changedLines(before: string, after: string): string[] {
  const [old, now] = [linesOf(before), linesOf(after)];
  let head = 0;
  while (head < old.length && head < now.length && old[head] === now[head]) head += 1;
  let tail = 0;
  const rest = Math.min(old.length, now.length) - head;
  while (tail < rest && old.at(-1 - tail) === now.at(-1 - tail)) tail += 1;
  const [gone, come] = [old.slice(head, old.length - tail), now.slice(head, now.length - tail)];
  const [first, second] = [gone[0], come[0]];
  const isPair = gone.length === 1 && come.length === 1;
  if (isPair && first !== undefined && second !== undefined) return pair(first, second);
  const lines = [...compared(gone, come)];
  for (const [place, line] of lines.entries()) {
    if (!line.startsWith("- ")) continue;
    const text = line.slice(2);
    const other = lines.findIndex((each) => each === `+ ${text},` || `${each},` === `+ ${text}`);
    if (other >= 0) [lines[place], lines[other]] = pair(text, lines[other]!.slice(2)) as [string, string];
  }
  return lines.map(masked);
}

function linesOf(text: string): string[] {
  const plain = text.replace(/^\ufeff/, "").replace(/\r?\n$/, "");
  return plain === "" ? [] : plain.split(/\r?\n/);
}

/** A line that was changed within: of what surrounds the change, values are left out. */
function pair(old: string, now: string): string[] {
  let head = 0;
  while (head < old.length && old[head] === now[head]) head += 1;
  let tail = 0;
  const rest = Math.min(old.length, now.length) - head;
  while (tail < rest && old.at(-1 - tail) === now.at(-1 - tail)) tail += 1;
  const before = around(old.slice(0, head));
  const after = around(tail === 0 ? "" : old.slice(-tail));
  const line = (text: string): string => before + text.slice(head, text.length - tail) + after;
  return [`- ${line(old)}`, `+ ${line(now)}`].map(masked);
}

/** Text around a change, unless other values may be in it: those are in braces. */
function around(text: string): string {
  return /[{}]/.test(text) && /\w/.test(text) ? "…" : text;
}

/** The lines of two lists in the order of the longest common subsequence, without the common ones. */
function* compared(old: readonly string[], now: readonly string[]): Iterable<string> {
  if (old.length > maxCompared || now.length > maxCompared) {
    for (const line of old) yield `- ${line}`;
    for (const line of now) yield `+ ${line}`;
    return;
  }
  const width = now.length + 1;
  const common = new Uint16Array((old.length + 1) * width);
  for (let n = old.length - 1; n >= 0; n -= 1)
    for (let m = now.length - 1; m >= 0; m -= 1)
      common[n * width + m] =
        old[n] === now[m]
          ? common[(n + 1) * width + m + 1]! + 1
          : Math.max(common[(n + 1) * width + m]!, common[n * width + m + 1]!);
  let [n, m] = [0, 0];
  while (n < old.length || m < now.length) {
    if (n < old.length && m < now.length && old[n] === now[m]) {
      n += 1;
      m += 1;
    } else if (
      m === now.length ||
      (n < old.length && common[(n + 1) * width + m]! >= common[n * width + m + 1]!)
    ) {
      yield `- ${old[n]}`;
      n += 1;
    } else {
      yield `+ ${now[m]}`;
      m += 1;
    }
  }
}

/** A line without the passwords of its URLs. */
function masked(line: string): string {
  return line.replaceAll(/(:\/\/[^\s"'/@:]*):[^\s"']*@/g, "$1:…@");
}
