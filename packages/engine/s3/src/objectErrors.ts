/** An object that a head names isn't there: it was merged into another object after the head was read, or it is lost. */
export class MissingObject extends Error {
  readonly key: string;

  constructor(key: string) {
    super(`object ${key} isn't there`);
    this.name = "MissingObject";
    this.key = key;
  }
}

/** The bytes of an object aren't what was written. */
export class DamagedObject extends Error {
  readonly key: string;

  constructor(key: string, cause: unknown) {
    super(`object ${key}: ${cause instanceof Error ? cause.message : String(cause)}`, { cause });
    this.name = "DamagedObject";
    this.key = key;
  }
}
