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

/** Refuses what is no tier. @throws InvalidOptionError that names the option and the method that isn't there */
export function checkTier(field: string, tier: unknown): asserts tier is Tier {
  const given = (typeof tier === "object" && tier !== null ? tier : {}) as Readonly<Record<string, unknown>>;
  const lacks = Object.keys(methods).find((method) => typeof given[method] !== "function");
  if (lacks === undefined) return;
  throw new InvalidOptionError(
    field,
    kindOf(tier),
    `Pass a tier, for instance memory(), redis({ client }) or postgres({ pool }); this has no ${lacks}().` +
      (typeof tier === "string" ? " createCheckpointer of the package stratigraph takes URLs." : ""),
  );
}
