import { isIP } from "node:net";

const loopback: ReadonlySet<string> = new Set(["localhost", "127.0.0.1", "[::1]"]);

/** Whether an address to listen on can be reached only from this machine. */
export function isLoopback(host: string): boolean {
  return loopback.has(host) || host === "::1";
}

/**
 * Whether a request was meant for this server, by its Host header. A page of another site can have its own name resolve to 127.0.0.1 (DNS
 * rebinding), but then its name is in the header.
 * @param others names besides those of loopback. "*" stands for any IP address: that is no name, so nobody can make it lead elsewhere
 */
export function isHost(header: string, others: readonly string[]): boolean {
  const name = nameOf(header);
  if (name === undefined) return false;
  if (loopback.has(name)) return true;
  const bare = name.replace(/^\[|\]$/g, "");
  return others.some((other) => (other === "*" ? isIP(bare) !== 0 : other.toLowerCase() === bare));
}

/** Whether a page of this origin was served by this host. */
export function isOwnOrigin(origin: string, host: string): boolean {
  return URL.canParse(origin) && new URL(origin).host === host.toLowerCase();
}

/** The name in a Host header, without the port; undefined if the header isn't a host. */
function nameOf(header: string): string | undefined {
  const [, name] = /^(\[[0-9a-f:.]+\]|[\w.-]+)(?::\d{1,5})?$/i.exec(header) ?? [];
  return name?.toLowerCase();
}
