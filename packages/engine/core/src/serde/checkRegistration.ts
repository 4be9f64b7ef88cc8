import { checkOptions, shown, type OptionAdvice, type OptionNames } from "../contract/checkOptions.ts";
import { InvalidOptionError } from "../contract/errors.ts";
import type { RegisteredLangChainType, RegisteredType } from "./typeRegistry.ts";

const names: OptionNames<RegisteredType> = { name: true, class: true, toData: true, fromData: true };
const langChainNames: OptionNames<RegisteredLangChainType> = { id: true, class: true };
const advice: OptionAdvice = {
  toJSON: "Write toData.",
  fromJSON: "Write fromData.",
  serialize: "Write toData.",
  deserialize: "Write fromData.",
  lc_id: "Write id.",
};

/** Checks a registration before it is kept. @throws InvalidOptionError */
export function checkRegistration(type: RegisteredType | RegisteredLangChainType): void {
  if (typeof type === "object" && type !== null && "id" in type) {
    checkOptions("register, for a LangChain class,", type, langChainNames, advice);
    if (!Array.isArray(type.id) || type.id.length === 0 || !type.id.every((part) => typeof part === "string"))
      throw new InvalidOptionError("id", shown(type.id), "Pass the class's lc_id, a list of strings.");
    checkClass(type.class);
    return;
  }
  if (type === undefined)
    throw new InvalidOptionError("type", "undefined", "Pass { name, class, toData, fromData }.");
  checkOptions("register", type, names, advice);
  if (typeof type.name !== "string" || type.name === "") {
    const found = type.name === "" ? "empty text" : shown(type.name);
    throw new InvalidOptionError("name", found, "Pass the name that is to stand in stored data for ever.");
  }
  checkClass(type.class);
  for (const option of ["toData", "fromData"] as const) {
    if (typeof type[option] !== "function")
      throw new InvalidOptionError(
        option,
        shown(type[option]),
        "Pass a function; it has a counterpart in the other direction.",
      );
  }
}

function checkClass(given: unknown): void {
  const prototype: unknown = typeof given === "function" ? given.prototype : undefined;
  if (typeof prototype !== "object" || prototype === null)
    throw new InvalidOptionError(
      "class",
      shown(given),
      "Pass the class itself, not its name and not an instance.",
    );
}
