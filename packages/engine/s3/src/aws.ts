import {
  DeleteObjectCommand,
  GetBucketLifecycleConfigurationCommand,
  GetBucketVersioningCommand,
  GetObjectCommand,
  HeadObjectCommand,
  ListObjectsV2Command,
  PutObjectCommand,
  type S3Client,
} from "@aws-sdk/client-s3";
import type { AwsSdk } from "./awsConnector.ts";
import { AwsObjectStore } from "./awsObjectStore.ts";
import type { ObjectStore } from "./objectStore.ts";
import type { S3Options } from "./s3Options.ts";

const sdk: AwsSdk = {
  DeleteObjectCommand,
  GetBucketLifecycleConfigurationCommand,
  GetBucketVersioningCommand,
  GetObjectCommand,
  HeadObjectCommand,
  ListObjectsV2Command,
  PutObjectCommand,
};

/** An object store over a client of `@aws-sdk/client-s3`. It doesn't close the client: the caller that opened it does. */
export function awsObjectStore(options: S3Options): ObjectStore {
  const client = options.client as S3Client;
  return new AwsObjectStore(async () => ({ sdk, client }), options);
}
