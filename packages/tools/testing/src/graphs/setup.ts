import type { BaseCheckpointSaver, SerializerProtocol } from "@langchain/langgraph-checkpoint";
import type { SuiteDurabilities } from "./durabilities.ts";

/** A saver opened for a suite, with the ways to open it again over the same storage. */
export interface OpenedSaver {
  saver: BaseCheckpointSaver;
  /**
   * Opens another saver instance over the same storage, to prove that state comes from storage and not from process memory. Most tests
   * call it several times, so let the instances share a connection pool if there is one. Without it, the suite uses `saver` again.
   */
  second?: () => Promise<BaseCheckpointSaver>;
  /** Closes everything that this setup opened, including the instances of `second()`. */
  close(): Promise<void>;
}

/** Opens the saver under test. It is called once per suite, and each test uses its own threads. */
export interface GraphSetup {
  (): Promise<OpenedSaver>;
  /**
   * Opens a saver that stores everything through `serde`, a serializer whose bytes are binary and compressed.
   * Without it, the tests of binary serializers aren't registered.
   */
  withSerde?: (serde: SerializerProtocol) => Promise<OpenedSaver>;
}

/** Options of `testGraphs`. */
export interface GraphSuiteOptions {
  /**
   * Full names ("group > test") of tests that this saver is known to fail. They run, and it is an error if one of them passes. Default:
   * none.
   */
  knownFailures?: readonly string[];
  /** With which durabilities a test runs that takes one: `"each"` of the three, or one of them, `"in turn"`. Default: `"each"`. */
  durabilities?: SuiteDurabilities;
  /** Runs every nth test only; the suite's name determines with which one it begins. Default: 1, which is all of them. */
  every?: number;
}
