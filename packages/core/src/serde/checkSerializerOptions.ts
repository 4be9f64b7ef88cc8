import { checkOptions, shown, type OptionNames } from "../contract/checkOptions.ts";
import { InvalidOptionError } from "../contract/errors.ts";
import type { StratigraphSerializerOptions } from "./stratigraphSerializer.ts";

const names: OptionNames<StratigraphSerializerOptions> = {
  unknownClasses: true,
  unknownTypes: true,
  types: true,
  langChain: true,
  langGraph: true,
};

/** @throws InvalidOptionError */
export function checkSerializerOptions(options: StratigraphSerializerOptions): void {
  checkOptions("StratigraphSerializer", options, names, {
    classes: "Write types.",
    register: "Write types.",
  });
  const { unknownClasses = "error", unknownTypes = "error", types = [] } = options;
  if (unknownClasses !== "error" && unknownClasses !== "plain")
    throw new InvalidOptionError("unknownClasses", shown(unknownClasses), 'Use "error" or "plain".');
  if (unknownTypes !== "error" && unknownTypes !== "inert")
    throw new InvalidOptionError("unknownTypes", shown(unknownTypes), 'Use "error" or "inert".');
  if (!Array.isArray(types))
    throw new InvalidOptionError("types", shown(types), "Pass a list of what register takes.");
  checkModule("langChain", options.langChain, "@langchain/core/messages");
  checkModule("langGraph", options.langGraph, "@langchain/langgraph");
}

function checkModule(option: string, given: unknown, name: string): void {
  if (given === undefined || (typeof given === "object" && given !== null)) return;
  throw new InvalidOptionError(
    option,
    shown(given),
    `Pass the module: import * as ${option} from ${JSON.stringify(name)}.`,
  );
}
