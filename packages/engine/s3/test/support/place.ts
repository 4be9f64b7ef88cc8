import { S3Client } from "@aws-sdk/client-s3";
import type { S3Login } from "../../../../../test/servers/s3Request.ts";
import { awsObjectStore } from "../../src/aws.ts";
import type { ObjectStore } from "../../src/objectStore.ts";
import { FolderStore } from "../../src/folderStore.ts";

/** Where a child finds the objects. */
export type StorePlace =
  | { readonly path: string }
  | (S3Login & { readonly bucket: string; readonly prefix: string });

/** Opens a place in a process that Node started as usual. */
export function storeAt(place: StorePlace): ObjectStore {
  if ("path" in place) return new FolderStore(place.path);
  const { endpoint, region, accessKey, secretKey, bucket, prefix } = place;
  const credentials = { accessKeyId: accessKey, secretAccessKey: secretKey };
  const client = new S3Client({ endpoint, region, forcePathStyle: true, maxAttempts: 1, credentials });
  return awsObjectStore({ client, bucket, prefix });
}
