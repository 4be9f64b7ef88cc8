import { Option, type Command } from "commander";

/** How results are written. */
export type Format = "table" | "json" | "jsonl";

/** The options that every command has. */
export interface Settings {
  readonly config?: string;
  readonly url?: string;
  readonly env?: string;
  readonly output: Format;
  readonly json?: boolean;
  readonly allPages?: boolean;
  readonly yes?: boolean;
  readonly readOnly?: boolean;
  readonly redact?: readonly string[];
  readonly quiet?: boolean;
  readonly verbose?: boolean;
}

/** The format in which results and errors are written. */
export function formatOf({ json, output }: Settings): Format {
  return json === true ? "json" : output;
}

/** Adds these options to a program. Commander accepts them before and after the command's name. */
export function addSettings(program: Command): void {
  const options = [
    new Option("-c, --config <file>", "the config file; default: the nearest stratigraph.config.*").env(
      "STRATIGRAPH_CONFIG",
    ),
    new Option("--url <url>", "a storage by its URL, without a config file"),
    new Option("--env <name>", "which of the config's environments").env("STRATIGRAPH_ENV"),
    new Option("-o, --output <format>", "how to write the result")
      .choices(["table", "json", "jsonl"])
      .default("table"),
    new Option("--json", "the same as --output json"),
    new Option("--all-pages", "all pages, not only the first"),
    new Option("-y, --yes", "don't ask before something is deleted"),
    new Option("--read-only", "refuse whatever would change something").env("STRATIGRAPH_READ_ONLY"),
    new Option(
      "--redact <path>",
      "don't show the values at this path, such as messages.*.content; may be repeated",
    ).argParser((path: string, before: string[] = []) => [...before, path]),
    new Option("-q, --quiet", "no progress and no hints"),
    new Option("-v, --verbose", "errors with their causes and stacks"),
  ];
  for (const option of options) program.addOption(option);
}
