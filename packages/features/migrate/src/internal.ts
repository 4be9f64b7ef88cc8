// For the packages beside this one, which are released with it. Not versioned: anything may change in a patch.
export { tierSource } from "./sources/tierSource.ts";
export { fileSource } from "./sources/fileSource.ts";
export { fileTarget } from "./targets/fileTarget.ts";
export { sqliteSource } from "./sources/sqliteSource.ts";
export { mongoSource } from "./sources/mongoSource.ts";
export { redisSource } from "./sources/redisSource.ts";
