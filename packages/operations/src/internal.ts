// For the packages beside this one, which are released with it. Not versioned: anything may change in a patch.
export { columns, shown, table } from "./render/columns.ts";
export { bytesText, timeText } from "./render/units.ts";
export { resolvePoint, resolveThread } from "./table/address.ts";
export { checkedInput } from "./table/runOperation.ts";
export { staysDry } from "./table/staysDry.ts";
export { cut, isCut } from "./values/cut.ts";
export { edited } from "./values/edit.ts";
export { ParsedValues } from "./values/parsedValues.ts";
export { formatPath, parsePath } from "./values/path.ts";
export { isRedacted, Redaction, redactedRecord } from "./values/redaction.ts";
export { replaced, resolve } from "./values/resolve.ts";
export { State } from "./values/state.ts";
export { inlineText, valueLines } from "./values/text.ts";
export { jsonOf, shownValue, valueView, viewOf } from "./values/view.ts";
