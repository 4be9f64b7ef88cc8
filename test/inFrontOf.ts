import { syncBuiltinESMExports } from "node:module";

/**
 * Puts a function in front of one of a module of Node's (its default import), also for those who imported it by name. For tests that
 * decide what happens right before or after a call, or have to know in which order calls are made.
 * @returns takes it away again
 */
export function inFrontOf<Module extends object, Name extends keyof Module>(
  module: Module,
  name: Name,
  make: (real: Module[Name]) => Module[Name],
): () => void {
  const real = module[name];
  module[name] = make(real);
  syncBuiltinESMExports();
  return () => {
    module[name] = real;
    syncBuiltinESMExports();
  };
}
