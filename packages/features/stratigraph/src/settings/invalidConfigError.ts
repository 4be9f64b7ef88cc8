import { StratigraphError } from "@stratigraph/core";

/** A config file with mistakes. `data`: file, and issues with the path of each mistake and what was expected. */
export class InvalidConfigError extends StratigraphError {
  constructor(file: string, issues: readonly { readonly path: string; readonly expected: string }[]) {
    const listed = issues.map(({ path, expected }) => `  ${path === "" ? "(the whole)" : path}: ${expected}`);
    super("INVALID_OPTION", [`${file} has mistakes:`, ...listed].join("\n"), { file, issues });
    this.name = "InvalidConfigError";
  }
}
