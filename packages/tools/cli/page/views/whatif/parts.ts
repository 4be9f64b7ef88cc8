import { inline, messageOf } from "../../changes/inline.ts";

/** A part of a channel's value that can be edited by itself. */
export interface EditablePart {
  /** The path as operations accept it, such as "[3].content"; "" for the whole value. */
  readonly path: string;
  readonly label: string;
}

/** How many parts of a value are offered. Other parts can be named by their paths. */
const mostParts = 200;

/** The parts of a value that can be chosen for editing: the contents of messages, the items of a list, the properties of an object. */
export function partsOf(value: unknown): EditablePart[] {
  const whole: EditablePart = { path: "", label: "The whole value" };
  if (Array.isArray(value))
    return [whole, ...value.slice(-mostParts).map((item, n) => itemPart(item, n, value.length))];
  if (typeof value !== "object" || value === null || "lc" in value) return [whole];
  const keys = Object.keys(value).filter((key) => /^[A-Za-z_$][\w$-]*$/.test(key));
  return [whole, ...keys.slice(0, mostParts).map((key) => ({ path: `.${key}`, label: `.${key}` }))];
}

/** The part that is most likely to be edited: in a conversation the last message of a person, otherwise the whole value. */
export function likelyPart(value: unknown): string {
  if (!Array.isArray(value) || value.length === 0 || !value.every((item) => messageOf(item) !== undefined))
    return "";
  const human = value.findLastIndex((item) => messageOf(item)!.role === "human");
  return `[${human === -1 ? value.length - 1 : human}].content`;
}

function itemPart(item: unknown, n: number, length: number): EditablePart {
  const index = Math.max(0, length - mostParts) + n;
  const message = messageOf(item);
  if (message === undefined) return { path: `[${index}]`, label: `[${index}] ${inline(item, 60)}` };
  const text = message.text === "" ? "" : ` ${message.text.slice(0, 60)}`;
  return { path: `[${index}].content`, label: `[${index}] ${message.role}:${text}` };
}
