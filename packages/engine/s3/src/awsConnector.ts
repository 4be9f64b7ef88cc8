import type * as S3 from "@aws-sdk/client-s3";
import type { S3Client } from "@aws-sdk/client-s3";

/** The parts of the package `@aws-sdk/client-s3` that are used. They are passed in because the package is an optional dependency. */
export type AwsSdk = Pick<
  typeof S3,
  | "DeleteObjectCommand"
  | "GetBucketLifecycleConfigurationCommand"
  | "GetBucketVersioningCommand"
  | "GetObjectCommand"
  | "HeadObjectCommand"
  | "ListObjectsV2Command"
  | "PutObjectCommand"
>;

/** The SDK with a client. `close` is there if the client was opened for the store. */
export interface AwsConnection {
  readonly sdk: AwsSdk;
  readonly client: S3Client;
  readonly close?: () => void;
}

/** Connects at the first request, because the SDK is loaded on demand. After a failure the next request tries again. */
export class AwsConnector {
  readonly #connect: () => Promise<AwsConnection>;
  #connection: Promise<AwsConnection> | undefined;

  constructor(connect: () => Promise<AwsConnection>) {
    this.#connect = connect;
  }

  async connected(): Promise<AwsConnection> {
    this.#connection ??= this.#connect().catch((error: unknown) => {
      this.#connection = undefined;
      throw error;
    });
    return await this.#connection;
  }

  async end(): Promise<void> {
    // A connection that failed needs no closing, and its error was already thrown to the request that opened it.
    const connection = await this.#connection?.catch(() => undefined);
    this.#connection = undefined;
    connection?.close?.();
  }
}
