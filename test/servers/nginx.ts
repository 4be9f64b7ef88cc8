import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { onFreePort, ServerFolder, ServerProcess } from "./process.ts";

export interface Nginx {
  url: string;
  port: number;
  stop(): Promise<void>;
}

/**
 * Starts nginx. Needs Debian's `nginx-light` (about 0.1 s).
 * @param http what stands in the http block, for the port that it is to listen on
 */
export async function startNginx(http: (port: number) => string): Promise<Nginx> {
  return onFreePort(async (port) => {
    const folder = new ServerFolder("nginx");
    const config = join(folder.dir, "nginx.conf");
    const temporary = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"].map((name) => {
      mkdirSync(join(folder.dir, name));
      return `${name}_temp_path ${join(folder.dir, name)};`;
    });
    // As root, so that its workers may use the folder, which is nobody else's.
    const user = process.getuid?.() === 0 ? "user root;" : "";
    writeFileSync(
      config,
      `${user} worker_processes 1; daemon off; pid ${folder.dir}/nginx.pid; error_log stderr;
events { worker_connections 512; }
http { access_log off; ${temporary.join(" ")}
${http(port)}
}
`,
    );
    const server = new ServerProcess(folder, "nginx", "nginx", [
      "-p",
      folder.dir,
      "-c",
      config,
      "-e",
      "stderr",
    ]);
    const stop = async () => {
      await server.end("SIGTERM");
      folder.remove();
    };
    const url = `http://127.0.0.1:${port}`;
    try {
      await server.up(() => fetch(`${url}/`));
    } catch (error) {
      await stop();
      throw error;
    }
    return { url, port, stop };
  });
}
