import { contentOf, isMessage, isObject } from "../values/records.ts";
import { redactedText } from "../values/redaction.ts";
import { clipped, inlineText } from "../values/text.ts";

/** How much of a text is shown, in characters. */
const mostText = 240;

/**
 * The question of a node, on one line, from the pending write of its interrupts.
 * @param hidesReasons whether reasons of a journal may hold what is redacted
 */
export function questionText(write: unknown, hidesReasons: boolean): string {
  const content = contentOf(write);
  const [first] = Array.isArray(content) ? (content as unknown[]) : [content];
  const interrupt = contentOf(first);
  const value = isObject(interrupt) && "value" in interrupt ? interrupt["value"] : interrupt;
  return journalText(contentOf(value), hidesReasons) ?? oneLine(value);
}

/** A question of a journal: whether a call may run, or whether it happened. */
function journalText(question: unknown, hidesReasons: boolean): string | undefined {
  if (!isObject(question) || typeof question["tool"] !== "string") return undefined;
  const { kind, tool, happened, equal } = question;
  const { reason, why } = hidesReasons ? { reason: redactedText, why: redactedText } : question;
  if (kind === "approval") return clippedLine(`May ${tool} run? ${oneLine(reason ?? "")}`);
  const asksOnce = happened === true ? `What was the result of ${tool}?` : `Did ${tool} happen?`;
  const asks = typeof equal === "number" ? `How many of ${equal} equal calls of ${tool} happened?` : asksOnce;
  if (kind === "ambiguous") return clippedLine(`${asks} ${oneLine(why ?? "")}`);
  return undefined;
}

/** Why a task failed, on one line: the name and message of its error. */
export function errorText(write: unknown): string {
  const content = contentOf(write);
  if (!isObject(content)) return oneLine(content);
  const { args, kwargs, name, message } = content;
  const [own, text] = Array.isArray(args)
    ? [isObject(kwargs) ? (kwargs["name"] ?? kwargs["class"]) : undefined, args[0] as unknown]
    : [name, message];
  return `${typeof own === "string" && own !== "Error" ? `${own}: ` : ""}${oneLine(text)}`;
}

/** The last message of a conversation that has a text: its author, and the text on one line. */
export function lastSaid(messages: unknown): { by: string; text: string } | undefined {
  const list = contentOf(messages);
  if (!Array.isArray(list)) return undefined;
  for (const message of (list as unknown[]).toReversed()) {
    if (!isMessage(message)) continue;
    const by = String(message.id.at(-1))
      .replace(/Message(Chunk)?$/, "")
      .toLowerCase();
    const text = saidText(message.kwargs["content"]);
    if (text !== "") return { by, text };
  }
  return undefined;
}

/** Values by the names of their channels, on one line: the shortest first, so that more of them are shown. */
export function stateText(values: readonly (readonly [channel: string, value: unknown])[]): string {
  const told = values.map(([channel, value]) => `${channel}: ${inlineText(value)}`);
  return clippedLine(told.sort((a, b) => a.length - b.length).join(", "));
}

function saidText(content: unknown): string {
  if (!Array.isArray(content)) return content === null || content === undefined ? "" : oneLine(content);
  const texts = (content as unknown[]).map((block) => (isObject(block) ? block["text"] : undefined));
  return oneLine(texts.filter((text) => typeof text === "string").join(" "));
}

/** A value on one line: a text unchanged; of an object, only its question or message if it has one. */
function oneLine(value: unknown): string {
  const content = contentOf(value);
  const asked = isObject(content)
    ? [content["question"], content["message"], content["prompt"]].find((each) => typeof each === "string")
    : undefined;
  return clippedLine(asked ?? (typeof content === "string" ? content : inlineText(value)));
}

function clippedLine(text: string): string {
  const line = text
    .slice(0, mostText * 4)
    .replaceAll(/\s+/g, " ")
    .trim();
  return clipped(line, mostText);
}
