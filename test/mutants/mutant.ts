/** One deliberate fault in the code, and the tests that ought to see it. */
export interface Mutant {
  /** Unique: letters of the package and a number, as `ti01`, or `tif01` of a plain fault. */
  readonly id: string;
  /**
   * "guard": takes away something that only matters when things happen in a bad order or fail: a second look, a lock, an fsync, a fencing
   * token, a time span. "fault": breaks what happens in every run.
   */
  readonly kind: "guard" | "fault";
  /** What is broken, and what users would notice. */
  readonly what: string;
  /** The file that is changed, from the repository's root. SQL and Lua are embedded anew. */
  readonly file: string;
  /** Occurs exactly once in the file. */
  readonly find: string;
  readonly replace: string;
  /** The narrowest test files that ought to fail, the quickest first. */
  readonly tests: readonly string[];
  /** Part of the full name of the tests to run, its `describe`s included. Default: all tests of the files. */
  readonly name?: string;
}
