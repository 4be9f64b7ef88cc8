import { AIMessage, HumanMessage, HumanMessageChunk } from "@langchain/core/messages";
import { Document } from "@langchain/core/documents";
import { InvalidOptionError } from "../../../src/contract/errors.ts";
import { ItemSnapshots } from "../../../src/incremental/itemSnapshots.ts";
import { StratigraphSerializer } from "../../../src/serde/index.ts";
import { TypeRegistry } from "../../../src/serde/typeRegistry.ts";
import { OTHERS } from "./langChainCopies.ts";

const [[, first], [, second]] = OTHERS as [(typeof OTHERS)[0], (typeof OTHERS)[0]];
const classOf = (value: unknown): unknown => Object.getPrototypeOf(value).constructor;

/** The class that a stored human message comes back as. */
function read(serde: StratigraphSerializer): unknown {
  return classOf(serde.loads(...new StratigraphSerializer().dumps(new HumanMessage("stored"))));
}

describe("which copy's class a message comes back as", () => {
  it("our own, before any was stored", () => {
    expect(read(new StratigraphSerializer())).toBe(HumanMessage);
  });

  it("another copy's, once only that copy's were stored; each class by itself", () => {
    const serde = new StratigraphSerializer();
    serde.dumps({ messages: [new first.messages.HumanMessage("x")] });
    expect(read(serde)).toBe(first.messages.HumanMessage);
    expect(classOf(serde.loads(...serde.dumps(new AIMessage("x"))))).toBe(AIMessage);
    expect(read(new StratigraphSerializer())).toBe(HumanMessage);
  });

  it("the first other copy's, where there are two", () => {
    const serde = new StratigraphSerializer();
    serde.dumps([new second.messages.HumanMessage("x"), new first.messages.HumanMessage("x")]);
    expect(read(serde)).toBe(second.messages.HumanMessage);
  });

  it("our own, where the application uses it too", () => {
    const serde = new StratigraphSerializer();
    serde.dumps(new first.messages.HumanMessage("x"));
    serde.dumps(new HumanMessage("x"));
    serde.dumps(new first.messages.HumanMessage("x"));
    expect(read(serde)).toBe(HumanMessage);
  });

  it("another copy's, where all of our own's were only read and put again", () => {
    const serde = new StratigraphSerializer();
    const resumed = serde.loads(...new StratigraphSerializer().dumps([new HumanMessage("x")])) as unknown[];
    serde.dumps([...resumed, new first.messages.HumanMessage("new")]);
    serde.dumps([...resumed, new first.messages.HumanMessage("new")]);
    expect(read(serde)).toBe(first.messages.HumanMessage);
  });

  it("the one that the option names, whatever was stored", () => {
    const langChain = { ...second.messages, ...second.promptValues, ...second.documents };
    const serde = new StratigraphSerializer({ langChain });
    expect(read(serde)).toBe(second.messages.HumanMessage);
    serde.dumps([new first.messages.HumanMessage("x"), new HumanMessage("x")]);
    expect(read(serde)).toBe(second.messages.HumanMessage);
    expect(classOf(serde.loads(...serde.dumps(new Document({ pageContent: "p" }))))).toBe(
      second.documents.Document,
    );
    const own = new StratigraphSerializer({ langChain: { HumanMessage } });
    own.dumps(new first.messages.HumanMessage("x"));
    expect(read(own)).toBe(HumanMessage);
  });

  it("is no option that isn't a class", () => {
    const langChain = { HumanMessage: "HumanMessage" } as never;
    expect(() => new StratigraphSerializer({ langChain })).toThrow(InvalidOptionError);
    expect(() => new StratigraphSerializer({ langChain })).toThrow(
      /langChain.HumanMessage: found "HumanMessage"/,
    );
  });

  it("holds for Documents", () => {
    const serde = new StratigraphSerializer();
    const document = (): unknown =>
      classOf(serde.loads(...new StratigraphSerializer().dumps(new Document({ pageContent: "p" }))));
    expect(document()).toBe(Document);
    serde.dumps(new first.documents.Document({ pageContent: "p" }));
    expect(document()).toBe(first.documents.Document);
    serde.dumps(new Document({ pageContent: "p" }));
    expect(document()).toBe(Document);
  });

  it("is never what stored data says", () => {
    const serde = new StratigraphSerializer();
    const [type, bytes] = new StratigraphSerializer().dumps(new first.messages.HumanMessage("x"));
    expect(classOf(serde.loads(type, bytes))).toBe(HumanMessage);
    expect(Buffer.from(bytes).toString()).not.toMatch(/1\.2|1\.4|CommonJS/);
  });
});

describe("classes that only look like one of LangChain's", () => {
  const record = (value: object): unknown =>
    JSON.parse(Buffer.from(new StratigraphSerializer().dumps(value)[1]).toString());
  const isFast = (value: object): boolean => {
    const snapshots = new ItemSnapshots();
    snapshots.add(value, new TypeRegistry());
    return snapshots.isSame(0, value) !== undefined;
  };
  /** What our own class comes back as after `value` was stored. */
  function after(value: object): unknown {
    const serde = new StratigraphSerializer();
    serde.dumps(value);
    return read(serde);
  }

  describe.each([
    ["our own", { HumanMessage, HumanMessageChunk }],
    ["another", first.messages],
  ])("derived from %s copy's", (_copy, { HumanMessage: Base }) => {
    class Mine extends Base {}
    class Named extends Base {
      static override lc_name(): string {
        return "Named";
      }
    }
    class Elsewhere extends Base {
      override lc_namespace = ["mine"];
    }
    class Identified extends Base {
      override get lc_id(): string[] {
        return ["mine", "HumanMessage"];
      }
    }
    const Same = { HumanMessage: class HumanMessage extends Base {} }.HumanMessage;
    class Claiming extends Base {
      override get lc_id(): string[] {
        return ["langchain_core", "messages", "HumanMessage"];
      }
    }

    it.each([Mine, Named, Elsewhere, Identified])("%o is refused, as ever", (Class) => {
      const value = new Class("x");
      expect(() => new StratigraphSerializer().dumps(value)).toThrow(new RegExp(`instance of ${Class.name}`));
      expect(isFast(value)).toBe(false);
    });

    it.each([Same, Claiming])("%o is stored as what it says, and comes back as our own", (Class) => {
      const value = new Class("x");
      expect(record(value)).toStrictEqual(record(new HumanMessage("x")));
      expect(isFast(value)).toBe(false);
      expect(after(value)).toBe(HumanMessage);
    });

    it("a registered one is what it was registered as", () => {
      const serde = new StratigraphSerializer();
      serde.register({
        name: "mine",
        class: Mine,
        toData: (value) => value.content,
        fromData: (data) => new Mine(data as string),
      });
      expect(serde.loads(...serde.dumps(new Mine("x")))).toBeInstanceOf(Mine);
    });
  });

  it("another copy's class that was registered is what it was registered as", () => {
    const { HumanMessage: Other } = first.messages;
    const serde = new StratigraphSerializer();
    serde.dumps(new Other("before"));
    serde.register({
      name: "other",
      class: Other,
      toData: (value) => value.content,
      fromData: (data) => new Other({ content: `${data as string}!` }),
    });
    expect((serde.loads(...serde.dumps(new Other("x"))) as { content: string }).content).toBe("x!");
  });

  it("a class built on another copy's base, with another constructor, is not used to revive", () => {
    const Base = Object.getPrototypeOf(first.messages.HumanMessage) as typeof first.messages.HumanMessage;
    const Odd = {
      HumanMessage: class HumanMessage extends Base {
        constructor(id: string, content: string) {
          super({ id, content });
        }
      },
    }.HumanMessage;
    const Throwing = {
      HumanMessage: class HumanMessage extends Base {
        constructor(fields: never) {
          if (!("secret" in fields)) throw new Error("no secret");
          super(fields);
        }
      },
    }.HumanMessage;
    for (const value of [new Odd("1", "x"), new Throwing({ content: "x", secret: 1 } as never)]) {
      const serde = new StratigraphSerializer();
      serde.dumps(value);
      const stored = new StratigraphSerializer().dumps(new HumanMessage({ content: "stored", name: "n" }));
      const loaded = serde.loads(...stored) as HumanMessage;
      expect(classOf(loaded)).toBe(HumanMessage);
      expect([loaded.content, loaded.name, loaded.id]).toStrictEqual(["stored", "n", undefined]);
    }
  });

  it.each([
    ["our own", HumanMessage],
    ["another", first.messages.HumanMessage],
  ])(
    "a class built on %s copy's base under a known name is no copy of ours, where it overrides what it is called",
    (_copy, known) => {
      const Base = Object.getPrototypeOf(known) as typeof HumanMessage;
      const Claiming = class HumanMessage extends Base {
        override get lc_id(): string[] {
          return ["langchain_core", "messages", "HumanMessage"];
        }
      };
      const Written = class HumanMessage extends Base {
        override toJSON(): never {
          throw new Error("not asked");
        }
      };
      for (const Class of [Claiming, Written]) {
        const value = new Class("x");
        expect(record(value)).toMatchObject({ id: ["langchain_core", "messages", "HumanMessage"] });
        expect(isFast(value)).toBe(false);
        expect(after(value)).toBe(HumanMessage);
      }
    },
  );

  it("a class built on our own base under a known name is stored as that, and comes back as our own", () => {
    const Base = Object.getPrototypeOf(HumanMessage) as typeof HumanMessage;
    const value = new { HumanMessage: class HumanMessage extends Base {} }.HumanMessage("x");
    expect(record(value)).toStrictEqual(record(new HumanMessage("x")));
    expect(after(value)).toBe(HumanMessage);
  });

  it("an older class that lacks what ours can do is stored, but not used to revive", () => {
    const Older = older();
    const value = new Older({ content: "x", additional_kwargs: {}, response_metadata: {} });
    expect(record(value)).toStrictEqual(record(new HumanMessage("x")));
    expect(isFast(value)).toBe(true);
    expect(after(value)).toBe(HumanMessage);
  });

  it("values that look like nothing in particular are not asked for what they can't answer", () => {
    class Asking {
      get lc_id(): never {
        throw new Error("asked");
      }
    }
    const bare = Object.create(Object.create(null) as object) as object;
    for (const value of [new Asking(), bare]) expect(isFast(value)).toBe(false);
    expect(() => new StratigraphSerializer().dumps({ bare })).toThrow(/instance of/);
  });
});

/** A HumanMessage as LangChain had them before messages had content blocks. */
function older() {
  class Serializable {
    lc_serializable = true;
    lc_namespace = ["langchain_core", "messages"];
    constructor(readonly lc_kwargs: Record<string, unknown>) {}
    get lc_id(): string[] {
      return [...this.lc_namespace, this.constructor.name];
    }
    toJSON(): never {
      throw new Error("not asked");
    }
  }
  class BaseMessage extends Serializable {
    content = this.lc_kwargs["content"];
    additional_kwargs = this.lc_kwargs["additional_kwargs"];
    response_metadata = this.lc_kwargs["response_metadata"];
    get lc_aliases(): Record<string, string> {
      return { additional_kwargs: "additional_kwargs", response_metadata: "response_metadata" };
    }
  }
  return { HumanMessage: class HumanMessage extends BaseMessage {} }.HumanMessage;
}
