import type { Tier } from "@stratigraph/core";
import { outside } from "./machine.ts";
import { iterations, local, parts, type World } from "./world.ts";

/** The tier of a server that isn't simulated: while it works, nothing else happens in the world. */
export function realTier<T extends Tier>(world: World, tier: T): T {
  return real(world, tier, iterations);
}

function real<T extends object>(world: World, tier: T, iterating: ReadonlySet<string>): T {
  return new Proxy(tier, {
    get: (target, name) => {
      const member = Reflect.get(target, name, target) as unknown;
      if (parts.has(name as string) && typeof member === "object" && member !== null)
        return real(world, member, new Set());
      if (typeof member !== "function" || typeof name !== "string") return member;
      const method = member as (...args: unknown[]) => unknown;
      if (local.has(name)) return method.bind(target);
      const call = (args: unknown[]): unknown => Reflect.apply(method, target, args);
      return iterating.has(name)
        ? (...args: unknown[]) => each(world, () => call(args) as AsyncIterable<unknown>)
        : async (...args: unknown[]) => await world.really(() => call(args));
    },
  });
}

async function* each(world: World, open: () => AsyncIterable<unknown>): AsyncGenerator<unknown> {
  const items = outside(() => open()[Symbol.asyncIterator]());
  try {
    for (;;) {
      const next = await world.really(() => items.next());
      if (next.done === true) return;
      yield next.value;
    }
  } finally {
    await world.really(() => items.return?.());
  }
}
