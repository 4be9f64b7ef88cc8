import { checkOptions, shown, type OptionNames } from "../checkOptions.ts";
import { InvalidOptionError } from "../errors.ts";
import type { StratigraphSerializerOptions } from "./StratigraphSerializer.ts";

const names: OptionNames<StratigraphSerializerOptions> = {
  unknownClasses: true,
  unknownTypes: true,
  types: true,
  langGraph: true,
};

/** @throws InvalidOptionError */
export function checkSerializerOptions(options: StratigraphSerializerOptions): void {
  checkOptions("StratigraphSerializer", options, names, {
    classes: "Write types.",
    register: "Write types.",
  });
  const { unknownClasses = "error", unknownTypes = "error", types = [], langGraph } = options;
  if (unknownClasses !== "error" && unknownClasses !== "plain")
    throw new InvalidOptionError("unknownClasses", shown(unknownClasses), 'Use "error" or "plain".');
  if (unknownTypes !== "error" && unknownTypes !== "inert")
    throw new InvalidOptionError("unknownTypes", shown(unknownTypes), 'Use "error" or "inert".');
  if (!Array.isArray(types))
    throw new InvalidOptionError("types", shown(types), "Pass a list of what register takes.");
  if (langGraph !== undefined && (typeof langGraph !== "object" || langGraph === null)) {
    throw new InvalidOptionError(
      "langGraph",
      shown(langGraph),
      'Pass the module: import * as langGraph from "@langchain/langgraph".',
    );
  }
}
