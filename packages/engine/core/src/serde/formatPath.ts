/** One step into a value: a property name or an index. */
export type PathSegment = string | number;

/** Longer paths keep their beginning and their end. */
const MAX_SEGMENTS = 24;

/** Writes `["messages", 3, "additional_kwargs", "cb"]` as `messages[3].additional_kwargs.cb`. */
export function formatPath(segments: readonly PathSegment[]): string {
  if (segments.length > MAX_SEGMENTS) {
    const half = MAX_SEGMENTS / 2;
    return `${formatPath(segments.slice(0, half))} … ${formatPath(segments.slice(-half))}`;
  }
  let path = "";
  for (const segment of segments) path += formatSegment(segment, path === "");
  return path;
}

function formatSegment(segment: PathSegment, first: boolean): string {
  if (typeof segment === "number") return `[${segment}]`;
  if (!/^[\p{L}_$][\p{L}\p{N}_$]*$/u.test(segment)) return `[${JSON.stringify(segment.slice(0, 200))}]`;
  return first ? segment : `.${segment}`;
}
