import { startS3 } from "../../servers/s3.ts";
import { s3Request } from "../../servers/s3Request.ts";
import type { ArchiveInput, ArchiveResult } from "../jobs/archiveThreads.ts";
import type { BenchContext, Section, Table } from "../types.ts";

export const name = "archive";
export const order = 50;
export const needs: Section["needs"] = ["our PostgresSaver", "recording"];

export async function run(context: BenchContext): Promise<Table> {
  const server = await startS3();
  try {
    await s3Request(server, "PUT", "/archive");
    const { quick } = context.options;
    const result = await context.inChild<ArchiveResult>(
      new URL("../jobs/archiveThreads.ts", import.meta.url),
      {
        url: context.postgresUrl,
        schema: "archive",
        s3: { ...server, bucket: "archive" },
        conversationsFile: context.conversationsFile!,
        conversations: quick ? 5 : 20,
        threads: quick ? 5 : 60,
      } satisfies ArchiveInput,
    );
    return { title: "x", columns: ["a"], rows: [[JSON.stringify(result, null, 1)]], notes: [] };
  } finally {
    await server.stop();
  }
}
