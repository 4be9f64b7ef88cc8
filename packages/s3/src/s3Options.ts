import type { Duration } from "@stratigraph/core";

/** What is used of an `S3Client` of `@aws-sdk/client-s3`. */
export interface S3ClientLike {
  send(command: never, options?: { abortSignal?: AbortSignal }): Promise<unknown>;
  destroy?(): void;
}

/** Encryption by S3 itself: its own keys, KMS keys, or a key that is sent with every request (256 bits). */
export type ServerSideEncryption =
  | "AES256"
  | { readonly kmsKeyId?: string | undefined; readonly bucketKey?: boolean | undefined }
  | { readonly customerKey: Uint8Array };

/** Options of an S3 tier. */
export interface S3Options {
  readonly client: S3ClientLike;
  readonly bucket: string;
  /** Put before every key, followed by "/". Default "stratigraph". */
  readonly prefix?: string | undefined;
  /** Default: as the bucket is configured. */
  readonly serverSideEncryption?: ServerSideEncryption | undefined;
  /** Of packs, for instance "STANDARD_IA" or "GLACIER_IR". Heads change often and stay in the bucket's default. */
  readonly storageClass?: string | undefined;
  /** Tags of every object, for lifecycle rules and bills. */
  readonly tags?: Readonly<Record<string, string>> | undefined;
  /** How long one request may take. Default "10s". */
  readonly timeout?: Duration | undefined;
  /** How often a request that failed for a passing reason is made, at most. Default 4. */
  readonly attempts?: number | undefined;
}
