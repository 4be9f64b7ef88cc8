import { checkOptions, shown, type OptionNames } from "../contract/checkOptions.ts";
import { InvalidOptionError } from "../contract/errors.ts";
import type { UnknownClasses } from "./encoder.ts";
import type { LangChainClasses } from "./langChainClasses.ts";
import type { LangGraphClasses } from "./langGraphClasses.ts";
import type { RegisteredLangChainType, RegisteredType } from "./typeRegistry.ts";
import type { UnknownTypes } from "./valueDecoder.ts";

/** Options of StratigraphSerializer. */
export interface StratigraphSerializerOptions {
  /**
   * Instances of classes without a stored form: `"error"` (default) refuses them; `"plain"` stores what their
   * `toJSON` or their own properties give, as LangGraph's serializer does, and they come back as plain data.
   */
  readonly unknownClasses?: UnknownClasses;
  /**
   * Stored data that names an unknown class: `"error"` (default) refuses to read it; `"inert"` gives the
   * record back as plain data.
   */
  readonly unknownTypes?: UnknownTypes;
  /** Types to register, as with `register`. */
  readonly types?: readonly (RegisteredType | RegisteredLangChainType)[];
  /**
   * The classes as which LangGraph's `Send`, `Command` and `Overwrite` are revived. Default: the classes of the first instances that were
   * stored through this serializer. Until then, those of the `@langchain/langgraph` that is installed beside this package.
   */
  readonly langGraph?: LangGraphClasses;
  /**
   * The classes as which LangChain's messages, prompt values and Documents are revived, such as `{ ...messages, ...promptValues,
   * ...documents }` of the application's `@langchain/core`. Needed only if there are two copies of it, for example because the
   * application is CommonJS and this package isn't, and the process reads before it writes. Default, for each class: that of the
   * `@langchain/core` beside this package, unless only instances of another copy's class were stored through this serializer. A
   * class that refuses what was stored is not used again. Throws {@link InvalidOptionError} if a value isn't a class.
   */
  readonly langChain?: LangChainClasses;
}

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
