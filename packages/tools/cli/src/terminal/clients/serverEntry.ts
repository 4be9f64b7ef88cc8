import { existsSync } from "node:fs";
import { posix, win32 } from "node:path";
import { InvalidOptionError } from "stratigraph";
import { isGlobal, type Client, type Places } from "./clients.ts";
import type { ServerEntry } from "./edits.ts";

/** An option that was given on the command line, and that the server gets, too. */
export interface GivenOption {
  readonly flag: string;
  /** Undefined: an option without a value. */
  readonly value?: string;
}

/**
 * What a client has to start, so that the server gets these options.
 * @throws InvalidOptionError if a password would be written, a file is missing, or Windows would take a value for a command
 */
export function serverEntry(
  client: Client,
  places: Places,
  global: boolean,
  given: readonly GivenOption[],
): ServerEntry {
  const options = given.flatMap(({ flag, value }) => {
    if (value === undefined) return [flag];
    refusePassword(flag, value, client);
    const told = located(client, places, global, flag, value);
    if (places.platform === "win32") refuseShellCharacters(flag, told);
    return told.startsWith("-") ? [`${flag}=${told}`] : [flag, told];
  });
  const args = [...prefix(client, places, global), "-y", "stratigraph", "mcp", ...options];
  const type = client.type === undefined ? {} : { type: client.type };
  if (places.platform !== "win32") return { ...type, command: "npx", args };
  // npx is a script there, which only a shell starts: https://github.com/modelcontextprotocol/servers ("On Windows, wrap npx with cmd /c").
  return { ...type, command: "cmd", args: ["/c", "npx", ...args] };
}

/** The folder, at or above the current one, in which the commands are installed. */
export function installedIn({ platform, cwd }: Places): string | undefined {
  const { dirname, join } = platform === "win32" ? win32 : posix;
  for (let folder = cwd; ; folder = dirname(folder)) {
    if (existsSync(join(folder, "node_modules", "@stratigraph", "cli"))) return folder;
    if (dirname(folder) === folder) return undefined;
  }
}

/** Where npx finds the commands and the drivers of the project, though the client starts it elsewhere. */
function prefix(client: Client, places: Places, global: boolean): string[] {
  const folder = startsElsewhere(client, global) ? installedIn(places) : undefined;
  if (folder === undefined) return [];
  const { projectFolder } = client;
  const isNamed = !isGlobal(client, global) && projectFolder !== undefined && folder === places.cwd;
  const told = isNamed ? projectFolder.replace(/\/$/, "") : folder;
  if (places.platform === "win32") refuseShellCharacters("prefix", told);
  return ["--prefix", told];
}

/** Whether a client starts the server in another folder than the current one. */
export function startsElsewhere(client: Client, global: boolean): boolean {
  return isGlobal(client, global) || client.projectFolder !== "";
}

function refuseShellCharacters(flag: string, value: string): void {
  if (!/[&|<>^%"\r\n]/.test(value)) return;
  const advice =
    "The shell of Windows, which starts the server, gives one of its characters another meaning. Put it into a config file, and name that with --config.";
  throw new InvalidOptionError(flag.replace(/^-+/, ""), value, advice);
}

function refusePassword(flag: string, value: string, { title }: Client): void {
  if (!hasPassword(value)) return;
  const field = flag.replace(/^-+/, "");
  const advice =
    `It has a password, which would be readable in the file of ${title}. ` +
    `Write a config file with env("DATABASE_URL") ("stratigraph init" makes one), and name that with --config.`;
  throw new InvalidOptionError(field, "a URL with a password", advice);
}

/** Also where a password has characters in it that tear the URL apart. */
function hasPassword(value: string): boolean {
  const [, rest] = /^[a-z0-9+.-]+:\/\/(.*)$/is.exec(value) ?? [];
  if (rest === undefined) return false;
  const isInLogin = rest.slice(0, Math.max(rest.lastIndexOf("@"), 0)).includes(":");
  return isInLogin || /[?&](?:ssl)?password=|[?&][^=&]*(?:secret|token|accesskey|pwd)[^=&]*=/i.test(rest);
}

/** A value as the server finds it from where it is started. */
function located(client: Client, places: Places, global: boolean, flag: string, value: string): string {
  if (flag === "--config") {
    const { resolve } = pathsOf(places);
    const file = resolve(places.cwd, value);
    if (!existsSync(file)) throw new InvalidOptionError("config", value, `There is no file ${file}.`);
    return locatedFile(client, places, global, value);
  }
  if (flag === "--audit") return locatedFile(client, places, global, value);
  const [, scheme, folder = "", rest = ""] = /^(pglite:|file:)([^?]*)(.*)$/is.exec(value) ?? [];
  if (flag !== "--url" || scheme === undefined || folder === "") return value;
  return scheme + locatedFile(client, places, global, folder) + rest;
}

function locatedFile(client: Client, places: Places, global: boolean, file: string): string {
  const { isAbsolute, resolve } = pathsOf(places);
  if (isAbsolute(file)) return file;
  const { projectFolder } = client;
  if (isGlobal(client, global) || projectFolder === undefined) return resolve(places.cwd, file);
  return projectFolder === "" ? file : projectFolder + file.replace(/^\.[\\/]/, "");
}

function pathsOf({ platform }: Places): typeof posix {
  return platform === "win32" ? win32 : posix;
}
