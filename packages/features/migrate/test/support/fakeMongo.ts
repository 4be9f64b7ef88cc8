import { createRequire } from "node:module";

// There is no MongoDB on this machine. The official MongoDBSaver runs on these collections, which keep documents as BSON by MongoDB's
// own library, so that ids and bytes are what a server would hand back. Queries know only what the saver and our source ask.

const mongo = createRequire(import.meta.resolve("@langchain/langgraph-checkpoint-mongodb"));
const { serialize, deserialize } = createRequire(mongo.resolve("mongodb"))("bson") as {
  serialize(document: object): Uint8Array;
  deserialize(bytes: Uint8Array): Document;
};

type Document = Record<string, unknown>;

interface Update {
  readonly $set?: Document;
  readonly $setOnInsert?: Document;
}

class Collection {
  #documents: Uint8Array[] = [];

  async createIndex(): Promise<string> {
    return "index";
  }

  async countDocuments(): Promise<number> {
    return this.#documents.length;
  }

  async updateOne(filter: Document, { $set = {}, $setOnInsert = {} }: Update): Promise<void> {
    const place = this.#documents.findIndex((bytes) => fits(deserialize(bytes), filter));
    if (place < 0) this.#documents.push(serialize({ ...filter, ...$setOnInsert, ...$set }));
    else this.#documents[place] = serialize({ ...deserialize(this.#documents[place]!), ...$set });
  }

  async bulkWrite(operations: { updateOne: { filter: Document; update: Update } }[]): Promise<void> {
    for (const { updateOne } of operations) await this.updateOne(updateOne.filter, updateOne.update);
  }

  async deleteMany(filter: Document): Promise<void> {
    this.#documents = this.#documents.filter((bytes) => !fits(deserialize(bytes), filter));
  }

  find(filter: Document) {
    let found = this.#documents.map((bytes) => deserialize(bytes)).filter((each) => fits(each, filter));
    const cursor = {
      sort(field: string, direction: 1 | -1) {
        found = found.toSorted((a, b) =>
          (a[field] as string) < (b[field] as string) ? -direction : direction,
        );
        return cursor;
      },
      limit(count: number) {
        found = found.slice(0, count);
        return cursor;
      },
      toArray: async () => found,
      async *[Symbol.asyncIterator]() {
        yield* found;
      },
    };
    return cursor;
  }
}

function fits(document: Document, filter: Document): boolean {
  return Object.entries(filter).every(([field, wanted]) => {
    if (typeof wanted !== "object" || wanted === null) return document[field] === wanted;
    const { $gt } = wanted as { readonly $gt?: string };
    return (document[field] as string) > $gt!;
  });
}

/** A client as the official MongoDBSaver takes it. */
export function fakeMongo() {
  const collections = new Map<string, Collection>();
  const database = {
    collection: (name: string) => {
      const found = collections.get(name) ?? new Collection();
      collections.set(name, found);
      return found;
    },
  };
  return { appendMetadata: () => undefined, db: () => database };
}
