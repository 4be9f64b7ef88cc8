import type { BaseCheckpointSaver, SerializerProtocol } from "@langchain/langgraph-checkpoint";
import type { SuiteDurabilities } from "./durabilities.ts";

/** A saver opened for a suite, with the ways to open it again over the same storage. */
export interface OpenedSaver {
  saver: BaseCheckpointSaver;
  /**
   * Opens one more saver instance over the same storage, to prove that state comes back from storage and not
   * from process memory. Called several times in most tests, so let the instances share a connection pool where
   * there is one. When absent, the suite goes on with `saver`.
   */
  second?: () => Promise<BaseCheckpointSaver>;
  /** Closes everything this setup opened, the instances of `second()` included. */
  close(): Promise<void>;
}

/** How a suite opens the saver under test. It is called once per suite; tests use threads of their own. */
export interface GraphSetup {
  (): Promise<OpenedSaver>;
  /**
   * Opens a saver that stores everything through `serde`, a serializer whose bytes are binary and compressed.
   * When absent, the tests of binary serdes are not registered.
   */
  withSerde?: (serde: SerializerProtocol) => Promise<OpenedSaver>;
}

/** Options of `testGraphs`. */
export interface GraphSuiteOptions {
  /**
   * Full names ("group > test") of tests this saver is known to fail. They run, and it is an error if one of
   * them passes. Default: none.
   */
  knownFailures?: readonly string[];
  /** With which durabilities tests run that take one: `"each"` of the three, or one of them, `"in turn"`. Default: `"each"`. */
  durabilities?: SuiteDurabilities;
}
