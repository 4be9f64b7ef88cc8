import { CodecError } from "../../src/codec/codecError.ts";

/** The reason of the CodecError that a call throws; the text of any other error; or that it throws nothing. */
export function reasonOf(run: () => unknown): string {
  try {
    run();
  } catch (error) {
    return CodecError.is(error) ? error.reason : String(error);
  }
  return "nothing thrown";
}
