/** Bytes for people: "812 B", "1.5 kB", "12 MB". Decimal units. */
export function bytesText(bytes: number): string {
  const units = ["B", "kB", "MB", "GB", "TB"];
  let size = bytes;
  let unit = 0;
  while (size >= 999.5 && unit < units.length - 1) {
    size /= 1000;
    unit += 1;
  }
  return `${unit === 0 || size >= 9.95 ? Math.round(size) : size.toFixed(1)} ${units[unit]}`;
}

/** A length of time for people: "3 s", "12 min", "5 h", "2 d". */
export function timeText(ms: number): string {
  const seconds = Math.max(0, Math.round(ms / 1000));
  if (seconds < 120) return `${seconds} s`;
  if (seconds < 7200) return `${Math.round(seconds / 60)} min`;
  if (seconds < 172_800) return `${Math.round(seconds / 3600)} h`;
  return `${Math.round(seconds / 86_400)} d`;
}

/** How long ago something was whose time is only known to the minute: "< 1 min ago", "1 min ago", "5 h ago". */
export function agoText(ms: number): string {
  const minute = 60_000;
  return `${ms < minute ? "< 1 min" : ms < 2 * minute ? "1 min" : timeText(ms)} ago`;
}
