/** Bytes for people: "812 B", "1.5 kB", "12 MB". Decimal units, as the command line writes them. */
export function bytesText(bytes: number): string {
  const units = ["B", "kB", "MB", "GB", "TB"];
  let size = bytes;
  let unit = 0;
  while (size >= 999.5 && unit < units.length - 1) {
    size /= 1000;
    unit += 1;
  }
  return `${unit === 0 || size >= 9.95 ? Math.round(size) : size.toFixed(1)} ${units[unit]!}`;
}

/** How long ago: "now", "40 s", "12 min", "5 h", "2 d", and if it is older than a month "14 Mar" or "Mar 2024". */
export function agoText(thenMs: number, nowMs: number): string {
  const seconds = Math.round((nowMs - thenMs) / 1000);
  if (seconds < -5) return `in ${agoText(nowMs, thenMs)}`;
  if (seconds < 5) return "now";
  if (seconds < 60) return `${seconds} s`;
  if (seconds < 3600) return `${Math.round(seconds / 60)} min`;
  if (seconds < 86_400) return `${Math.round(seconds / 3600)} h`;
  if (seconds < 30 * 86_400) return `${Math.round(seconds / 86_400)} d`;
  const [year, month, day] = new Date(thenMs).toISOString().slice(0, 10).split("-") as [
    string,
    string,
    string,
  ];
  const name = months[Number(month) - 1]!;
  return year === new Date(nowMs).toISOString().slice(0, 4) ? `${Number(day)} ${name}` : `${name} ${year}`;
}

/** The time of day: with seconds if it is today, because steps of a run are seconds apart; otherwise with the date. */
export function clockText(thenMs: number, nowMs: number): { readonly date?: string; readonly time: string } {
  const then = new Date(thenMs);
  const two = (n: number) => String(n).padStart(2, "0");
  const time = `${two(then.getHours())}:${two(then.getMinutes())}`;
  if (then.toDateString() === new Date(nowMs).toDateString())
    return { time: `${time}:${two(then.getSeconds())}` };
  return { date: `${then.getDate()} ${months[then.getMonth()]!}`, time };
}

const months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

/** A number with separators for thousands: "20,000". */
export function countText(count: number): string {
  return count.toLocaleString("en");
}
