import type { S3Client } from "@aws-sdk/client-s3";
import { freshBucket } from "../../../../../test/servers/shared.ts";
import type { S3Login } from "../../../../../test/servers/s3Request.ts";
import { sdk } from "./sdk.ts";

/** A client of a test server. */
export function clientOf({ endpoint, accessKey, secretKey, region }: S3Login): S3Client {
  return new sdk.S3Client({
    endpoint,
    region,
    forcePathStyle: true,
    maxAttempts: 1,
    credentials: { accessKeyId: accessKey, secretAccessKey: secretKey },
  });
}

/** An empty bucket with a client of its own. */
export async function openBucket() {
  const fresh = await freshBucket();
  const client = clientOf(fresh);
  return {
    client,
    bucket: fresh.bucket,
    login: fresh,
    close: async () => {
      client.destroy();
      await fresh.drop();
    },
  };
}
