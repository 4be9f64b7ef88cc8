import type { Tier } from "@stratigraph/core";

/** A tier of which some methods do something else. A method that is undefined is one that it doesn't have. */
export function tierWith<T extends Tier>(tier: T, others: { readonly [Name in string]?: unknown }): T {
  return new Proxy(tier, {
    get: (target, name) => {
      if (Object.hasOwn(others, name)) return others[name as string];
      const member = Reflect.get(target, name, target) as unknown;
      return typeof member === "function" ? (member.bind(target) as unknown) : member;
    },
  });
}
