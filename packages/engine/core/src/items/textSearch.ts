const segmenter = new Intl.Segmenter(undefined, { granularity: "word" });

/** The words of a text, in lower case. Languages without spaces have words, too. */
export function wordsOf(text: string): Set<string> {
  const words = new Set<string>();
  // In pieces, as the time of a segmenter grows faster than its text.
  for (const piece of text.normalize("NFKC").match(/\S{1,500}/gu) ?? [])
    for (const { segment, isWordLike } of segmenter.segment(piece))
      if (isWordLike === true) words.add(segment.toLowerCase());
  return words;
}

/** Which share of the words, of which there is at least one, occur in the texts of a value, from 0 to 1. */
export function scoreOf(value: unknown, words: ReadonlySet<string>): number {
  const found = wordsOf(textsIn(value).join("\n"));
  let count = 0;
  for (const word of words) if (found.has(word)) count += 1;
  return count / words.size;
}

function textsIn(value: unknown): string[] {
  if (typeof value === "string") return [value];
  if (typeof value !== "object" || value === null || ArrayBuffer.isView(value)) return [];
  if (value instanceof Map || value instanceof Set) return [...value].flatMap(textsIn);
  return Object.values(value).flatMap(textsIn);
}
