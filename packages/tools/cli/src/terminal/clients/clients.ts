import { posix, win32 } from "node:path";
import { StratigraphError } from "stratigraph";

/** Where a machine keeps what clients read. */
export interface Places {
  readonly platform: NodeJS.Platform;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** The project: the current folder. */
  readonly cwd: string;
}

/** A program that starts MCP servers, and the file in which it looks for them. */
export interface Client {
  readonly name: string;
  /** As people call it. */
  readonly title: string;
  readonly format: "json" | "toml";
  /** The key whose value has an entry for each server. */
  readonly key: string;
  /** What the entry's `type` must say. */
  readonly type?: "stdio";
  /** The project's file, from the project's folder. */
  readonly project?: string;
  /** The user's file. */
  readonly global: (at: Folders) => string;
  /**
   * How the project's file names the project's folder. The empty string: the client starts servers in it. Undefined: it starts them elsewhere,
   * and has no word for the folder.
   */
  readonly projectFolder?: string;
}

/** Folders of a user. */
interface Folders {
  readonly home: string;
  /** The folder of applications' data: `%APPDATA%`, `~/Library/Application Support`, `~/.config`. */
  readonly data: string;
  readonly env: Places["env"];
  readonly join: (...parts: string[]) => string;
  readonly isWindows: boolean;
}

/** The clients whose file and format are documented. The documentation was read in November 2026. */
export const clients: readonly Client[] = [
  {
    // https://code.claude.com/docs/en/mcp: scopes "project" (.mcp.json) and "user" (~/.claude.json). It is started in the project.
    name: "claude-code",
    title: "Claude Code",
    format: "json",
    key: "mcpServers",
    project: ".mcp.json",
    projectFolder: "",
    global: ({ home, join }) => join(home, ".claude.json"),
  },
  {
    // https://modelcontextprotocol.io/quickstart/user; for Linux https://github.com/aaddrick/claude-desktop-debian, which packs the official beta.
    name: "claude-desktop",
    title: "Claude Desktop",
    format: "json",
    key: "mcpServers",
    global: ({ data, join }) => join(data, "Claude", "claude_desktop_config.json"),
  },
  {
    // https://cursor.com/docs/mcp
    name: "cursor",
    title: "Cursor",
    format: "json",
    key: "mcpServers",
    project: ".cursor/mcp.json",
    global: ({ home, join }) => join(home, ".cursor", "mcp.json"),
  },
  {
    // https://code.visualstudio.com/docs/agents/reference/mcp-configuration: "servers", the field "type", ${workspaceFolder}, and the user's
    // profile, whose folder is in https://code.visualstudio.com/docs/configure/settings.
    name: "vscode",
    title: "VS Code",
    format: "json",
    key: "servers",
    type: "stdio",
    project: ".vscode/mcp.json",
    projectFolder: "${workspaceFolder}/",
    global: ({ data, join }) => join(data, "Code", "User", "mcp.json"),
  },
  {
    // https://developers.openai.com/codex/mcp; CODEX_HOME: https://developers.openai.com/codex/environment-variables. The project's file counts
    // in trusted projects.
    name: "codex",
    title: "Codex",
    format: "toml",
    key: "mcp_servers",
    project: ".codex/config.toml",
    projectFolder: "",
    global: ({ home, env, join }) => join(env["CODEX_HOME"] || join(home, ".codex"), "config.toml"),
  },
  {
    // https://geminicli.com/docs/cli/configuration, https://geminicli.com/docs/tools/mcp-server
    name: "gemini-cli",
    title: "Gemini CLI",
    format: "json",
    key: "mcpServers",
    project: ".gemini/settings.json",
    projectFolder: "",
    global: ({ home, join }) => join(home, ".gemini", "settings.json"),
  },
  {
    // https://docs.windsurf.com/windsurf/cascade/mcp
    name: "windsurf",
    title: "Windsurf",
    format: "json",
    key: "mcpServers",
    global: ({ home, join }) => join(home, ".codeium", "windsurf", "mcp_config.json"),
  },
  {
    // https://zed.dev/docs/ai/mcp (context_servers), https://zed.dev/docs/configuring-zed (the file, XDG_CONFIG_HOME)
    name: "zed",
    title: "Zed",
    format: "json",
    key: "context_servers",
    global: ({ home, data, env, join, isWindows }) =>
      isWindows
        ? join(data, "Zed", "settings.json")
        : join(env["XDG_CONFIG_HOME"] || join(home, ".config"), "zed", "settings.json"),
  },
];

/** Whether a client's file of this kind belongs to the user, and not to the project. */
export function isGlobal(client: Client, global: boolean): boolean {
  return global || client.project === undefined;
}

/**
 * The path of a client's file.
 * @param global the user's file, if there is one for the project, too
 */
export function fileOf(client: Client, places: Places, global: boolean): string {
  const { join } = places.platform === "win32" ? win32 : posix;
  const { project } = client;
  return isGlobal(client, global) || project === undefined
    ? client.global(foldersOf(places))
    : join(places.cwd, project);
}

function foldersOf({ platform, env }: Places): Folders {
  const isWindows = platform === "win32";
  const { join } = isWindows ? win32 : posix;
  const home = (isWindows ? env["USERPROFILE"] || env["HOME"] : env["HOME"]) || undefined;
  if (home === undefined) {
    const message = `Where you keep your settings is unknown: set ${isWindows ? "USERPROFILE" : "HOME"}.`;
    throw new StratigraphError("MISCONFIGURED", message);
  }
  const data = isWindows
    ? env["APPDATA"] || join(home, "AppData", "Roaming")
    : platform === "darwin"
      ? join(home, "Library", "Application Support")
      : env["XDG_CONFIG_HOME"] || join(home, ".config");
  return { home, data, env, join, isWindows };
}

/** The files and folders that only exist if somebody uses the client. */
export function signsOf(client: Client, places: Places): string[] {
  const { dirname, join } = places.platform === "win32" ? win32 : posix;
  const own = fileOf(client, places, true);
  const { home } = foldersOf(places);
  // The folder of ~/.claude.json is everybody's.
  const folder = dirname(own) === join(home) ? [] : [dirname(own)];
  return [own, ...folder, ...(client.project === undefined ? [] : [fileOf(client, places, false)])];
}
