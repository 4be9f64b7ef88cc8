/** What decides the place of a pending write among those of its checkpoint. */
export interface WritePlace {
  /** LangGraph's path of the task (from 1.5 on); "" if none is known. */
  readonly taskPath: string;
  readonly taskId: string;
  readonly index: number;
}

const isHighSurrogate = (unit: number): boolean => unit >= 0xd800 && unit <= 0xdbff;

/**
 * Compares text by Unicode code point, as Python does. JavaScript's `<` compares UTF-16 units, in which characters above
 * U+FFFF come before those from U+E000 on.
 */
export function compareCodePoints(a: string, b: string): number {
  if (a === b) return 0;
  const length = Math.min(a.length, b.length);
  for (let at = 0; at < length; at += 1) {
    if (a.charCodeAt(at) === b.charCodeAt(at)) continue;
    // If the character began one unit earlier, the differing halves belong to it.
    const from = at > 0 && isHighSurrogate(a.charCodeAt(at - 1)) ? at - 1 : at;
    return a.codePointAt(from)! - b.codePointAt(from)! || a.codePointAt(at)! - b.codePointAt(at)!;
  }
  return a.length - b.length;
}

/**
 * The order in which LangGraph applied the writes of a step, and in which it wants pending writes back: by task path, then
 * task id, then index. A DeltaChannel is rebuilt in this order.
 */
export function compareWrites(a: WritePlace, b: WritePlace): number {
  return (
    compareCodePoints(a.taskPath, b.taskPath) || compareCodePoints(a.taskId, b.taskId) || a.index - b.index
  );
}
