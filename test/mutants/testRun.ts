/** What a runner is asked for. */
export interface TestRun {
  readonly files: readonly string[];
  /** A regular expression for the full names of tests. Default: all of them. */
  readonly name?: string | undefined;
  /** Whether it goes on after the first test that fails. */
  readonly all: boolean;
  /** Files whose text isn't what it was in the run before. */
  readonly changed: readonly string[];
}

/** What a runner answers. */
export interface TestResult {
  /** How many tests passed. */
  readonly passed: number;
  readonly failed: readonly { readonly file: string; readonly test: string }[];
}
