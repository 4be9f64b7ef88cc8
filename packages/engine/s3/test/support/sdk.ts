import Module, { createRequire } from "node:module";
import type * as Sdk from "@aws-sdk/client-s3";
import { vi } from "vitest";

// vitest starts its workers with the condition "module" (vitest.config.ts), which leads Node to the SDK's files for bundlers;
// it can't load those. This loads the real SDK from the files that Node takes everywhere else.
type Resolve = (request: string, ...rest: unknown[]) => string;
const loader = Module as unknown as { _resolveFilename: Resolve };
const resolve = loader._resolveFilename;
loader._resolveFilename = (request, ...rest) => {
  const file = resolve.call(Module, request, ...rest);
  return /[/\\]@(aws-sdk|smithy|aws)[/\\]/.test(file)
    ? file.replace(/([/\\])dist-es([/\\])/, "$1dist-cjs$2")
    : file;
};

/** `@aws-sdk/client-s3`, as Node loads it. */
export const sdk = createRequire(import.meta.url)("@aws-sdk/client-s3") as typeof Sdk;

vi.doMock("@aws-sdk/client-s3", () => sdk);
