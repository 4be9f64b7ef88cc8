import { kindOf } from "./checkOptions.ts";
import { InvalidOptionError } from "./errors.ts";
import type { Tier } from "./tier.ts";

const methods: Readonly<Record<RequiredMethod, true>> = {
  peek: true,
  read: true,
  list: true,
  threads: true,
  blobs: true,
  append: true,
  appendWrites: true,
  remove: true,
  evict: true,
  deleteThread: true,
};

/** Methods that every tier has; one that is forgotten above does not compile. */
type RequiredMethod = {
  [Name in keyof Tier]-?: undefined extends Tier[Name] ? never : Tier[Name] extends string ? never : Name;
}[keyof Tier];

/**
 * Refuses a value that is no tier.
 * @param owns whether the tier is to keep threads that are nowhere else. Then a tier that forgets threads by itself is refused, too
 * @throws InvalidOptionError that names the option, and the missing method
 */
export function checkTier(field: string, tier: unknown, owns = false): asserts tier is Tier {
  const given = (typeof tier === "object" && tier !== null ? tier : {}) as Readonly<Record<string, unknown>>;
  const lacks = Object.keys(methods).find((method) => typeof given[method] !== "function");
  if (lacks !== undefined)
    throw new InvalidOptionError(
      field,
      kindOf(tier),
      `Pass a tier, for instance postgres({ pool }) or redis({ client }); this has no ${lacks}().` +
        (typeof tier === "string" ? " createCheckpointer of the package stratigraph takes URLs." : ""),
    );
  if (owns && given["forgets"] === true)
    throw new InvalidOptionError(
      field,
      String(given["name"]),
      "It forgets threads when it is full or they are idle, so it can only be a hot tier in front of others. To keep threads in " +
        "memory as long as the process lives, use new MemorySaver(), { memory: true } or the URL memory:.",
    );
}
