import { S3Client } from "@aws-sdk/client-s3";
import { s3 } from "@stratigraph/s3";
import type { S3Login } from "../servers/s3Request.ts";

/** Requests to S3 by kind, and bytes of bodies. */
export interface S3Counts {
  get: number;
  put: number;
  list: number;
  delete: number;
  bytesIn: number;
  bytesOut: number;
}

export interface S3Place extends S3Login {
  bucket: string;
}

const kinds: Readonly<Record<string, "get" | "put" | "list" | "delete">> = {
  GetObjectCommand: "get",
  HeadObjectCommand: "get",
  PutObjectCommand: "put",
  ListObjectsV2Command: "list",
  DeleteObjectCommand: "delete",
};

/** An S3 tier with a client of its own, and what it asked of S3 so far. */
export function countedS3(place: S3Place) {
  const client = new S3Client({
    endpoint: place.endpoint,
    region: place.region,
    forcePathStyle: true,
    maxAttempts: 1,
    credentials: { accessKeyId: place.accessKey, secretAccessKey: place.secretKey },
  });
  const counts: S3Counts = { get: 0, put: 0, list: 0, delete: 0, bytesIn: 0, bytesOut: 0 };
  const counting = {
    send: async (command: { input: { Body?: Uint8Array } }, options?: object) => {
      const kind = kinds[command.constructor.name];
      if (kind === undefined) throw new Error(`a request that isn't counted: ${command.constructor.name}`);
      counts[kind] += 1;
      counts.bytesOut += command.input.Body?.length ?? 0;
      const answer = (await client.send(command as never, options)) as { ContentLength?: number };
      if (kind === "get") counts.bytesIn += answer.ContentLength ?? 0;
      return answer;
    },
  };
  const tier = s3({ client: counting, bucket: place.bucket });
  return { tier, counts, close: () => client.destroy() };
}

/** All requests. */
export function requestsOf({ get, put, list, delete: deletes }: S3Counts): number {
  return get + put + list + deletes;
}

/** What was counted between two moments. */
export function since(before: S3Counts, now: S3Counts): S3Counts {
  return Object.fromEntries(
    Object.entries(now).map(([name, value]) => [name, value - before[name as keyof S3Counts]]),
  ) as unknown as S3Counts;
}
