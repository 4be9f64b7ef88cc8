export { apply } from "./apply.ts";
export { cutsChain, MAX_CHAIN_DEPTH } from "./cutsChain.ts";
export { decodePatch } from "./decodePatch.ts";
export { diff, diffAdded } from "./diff.ts";
export { encodePatch } from "./encodePatch.ts";
export { materialize } from "./materialize.ts";
export { INSERT, type Patch } from "./patch.ts";
export { PatchError } from "./patchError.ts";
