import type { ThreadTag } from "./tier.ts";

/** A tag as one text: equal for equal tags only. */
export function tagKey({ key, value }: ThreadTag): string {
  return JSON.stringify([key, value]);
}

/** The tag of a {@link tagKey}. */
export function tagOfKey(text: string): ThreadTag {
  const [key, value] = JSON.parse(text) as [string, string];
  return { key, value };
}
