export { apply } from "./apply.ts";
export { cutsChain, MAX_CHAIN_DEPTH, type ChainState } from "./chain.ts";
export { decodePatch } from "./decodePatch.ts";
export { diff, diffAdded } from "./diff.ts";
export { encodePatch, type EncodedPatch } from "./encodePatch.ts";
export { materialize } from "./materialize.ts";
export { INSERT, type Patch } from "./patch.ts";
export { PatchError } from "./patchError.ts";
