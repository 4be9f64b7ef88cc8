import { InvalidOptionError } from "@stratigraph/core";

/** Values of target_session_attrs that a writable server meets. */
const writing: ReadonlySet<string> = new Set(["any", "primary", "read-write"]);

/**
 * Splits a connection string into one for each server that it names: `postgresql://user@a:5432,b:5432/db` names two, as libpq reads
 * it. node-postgres knows one server per connection string.
 * @throws InvalidOptionError if a host is missing, or a standby is wanted (target_session_attrs). The error shows no login.
 */
export function serverUrlsOf(url: string): readonly string[] {
  const [, scheme = "", authority = "", rest = ""] = /^([a-z]+:\/\/)([^/?#]*)(.*)$/is.exec(url) ?? [];
  const at = authority.lastIndexOf("@") + 1;
  const hosts = authority.slice(at).split(",");
  if (hosts.length === 1) return [url];
  if (hosts.some((host) => host.trim() === "" || host.startsWith(":")))
    throw new InvalidOptionError(
      "url",
      "a list of hosts with an empty place",
      "Name every host: postgresql://user@a:5432,b:5432/db.",
    );
  const wanted = new URLSearchParams(rest.split("?")[1] ?? "").get("target_session_attrs");
  if (wanted !== null && !writing.has(wanted))
    throw new InvalidOptionError(
      "url, target_session_attrs",
      wanted,
      'Use "read-write", because a checkpointer writes. To read from a standby, pass it as a replica of a stack: replicas: [postgres({ url })].',
    );
  return hosts.map((host) => `${scheme}${authority.slice(0, at)}${host.trim()}${rest}`);
}
