import { z } from "zod";

/** A text such as `user=anna`. */
export const pair = z.string().regex(/^[^=]+=/, "write key=value");

/** Pairs as an object. The value is the text after the first "=". */
export function pairs<T>(texts: readonly string[], valueOf: (text: string) => T): Record<string, T> {
  return Object.fromEntries(
    texts.map((text) => {
      const split = text.indexOf("=");
      return [text.slice(0, split), valueOf(text.slice(split + 1))];
    }),
  );
}

/** Tags of threads, from pairs. */
export function tagsOf(texts: readonly string[]): Record<string, string> {
  return pairs(texts, (text) => text);
}
