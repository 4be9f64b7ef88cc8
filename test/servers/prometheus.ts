import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { onFreePort, ServerFolder, ServerProcess } from "./process.ts";

export interface Prometheus {
  url: string;
  /** Asks for the values of a query now. Throws what Prometheus says is wrong with it. */
  query(expression: string): Promise<Sample[]>;
  stop(): Promise<void>;
}

/** One series and its value now. */
export interface Sample {
  metric: Record<string, string>;
  value: [seconds: number, text: string];
}

/**
 * Starts a Prometheus that keeps what it scrapes in a temporary folder. Needs Debian's `prometheus` (about 1 s).
 * @param config what stands in its configuration file
 */
export async function startPrometheus(config: string): Promise<Prometheus> {
  return onFreePort(async (port) => {
    const folder = new ServerFolder("prometheus");
    const file = join(folder.dir, "prometheus.yml");
    writeFileSync(file, config);
    const server = new ServerProcess(folder, "prometheus", "prometheus", [
      `--config.file=${file}`,
      `--storage.tsdb.path=${join(folder.dir, "data")}`,
      `--web.listen-address=127.0.0.1:${port}`,
      "--log.level=warn",
    ]);
    const stop = async () => {
      await server.end("SIGKILL");
      folder.remove();
    };
    const url = `http://127.0.0.1:${port}`;
    try {
      await server.up(async () => (await fetch(`${url}/-/ready`)).ok);
    } catch (error) {
      await stop();
      throw error;
    }
    const query = async (expression: string): Promise<Sample[]> => {
      const response = await fetch(`${url}/api/v1/query`, {
        method: "POST",
        body: new URLSearchParams({ query: expression }),
      });
      const answer = (await response.json()) as { error?: string; data?: { result: Sample[] } };
      if (answer.data === undefined) throw new Error(`${expression}: ${answer.error}`);
      return answer.data.result;
    };
    return { url, query, stop };
  });
}
