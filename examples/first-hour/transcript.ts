import { strict as assert } from "node:assert";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { PassThrough, Readable } from "node:stream";
import { main } from "@stratigraph/cli";

/** What a command wrote. */
interface Ran {
  readonly stdout: string;
}

/** Runs commands as a person would type them, and writes down what they said. */
export class Transcript {
  readonly #folder: string;
  readonly #shown: Readonly<Record<string, string>>;
  readonly #parts: string[] = [];

  /** @param shown what is written in the place of texts that are different on every machine */
  constructor(folder: string, shown: Readonly<Record<string, string>>) {
    this.#folder = folder;
    this.#shown = { ...shown, [folder]: "~/agent" };
  }

  /** A sentence between the commands. */
  say(sentence: string): void {
    console.log(`\n${sentence}`);
    this.#parts.push(sentence);
  }

  /** Runs a command of stratigraph and checks its exit code. Its result may go to a file, as with `>` in a shell. */
  async run(command: string, expected = 0, file?: string): Promise<Ran> {
    const [stdout, stderr] = [new Collected(), new Collected()];
    const code = await main(command.split(" "), {
      stdout,
      stderr,
      stdin: Readable.from([]),
      env: process.env,
      cwd: this.#folder,
    });
    const typed = `$ npx stratigraph ${command}${file === undefined ? "" : ` > ${file}`}`;
    const said = `${file === undefined ? stdout.text : ""}${stderr.text}`;
    if (file !== undefined) writeFileSync(join(this.#folder, file), stdout.text);
    const exit = code === 0 ? "" : `$ echo $?\n${code}\n`;
    const text = this.#replaced(`${typed}\n${said}${exit}`);
    console.log(text);
    this.#parts.push(`\`\`\`console\n${text}\`\`\``);
    assert.equal(code, expected, `the exit code of ${command}`);
    return { stdout: stdout.text };
  }

  /** Writes a file of JSON, and shows it. */
  write(file: string, contents: object): void {
    const text = `${JSON.stringify(contents, null, 2)}\n`;
    writeFileSync(join(this.#folder, file), text);
    this.#parts.push(`\`\`\`console\n${this.#replaced(`$ cat ${file}\n${text}`)}\`\`\``);
  }

  /** Writes the document where UPDATE is set; otherwise compares the commands in it with those that were run. */
  async end(path: string): Promise<void> {
    const head =
      "# The first hour\n\nWritten by `UPDATE=1 pnpm examples first-hour`, which also checks every step. Ids and times are other ones each time.";
    const document = `${[head, ...this.#parts].join("\n\n")}\n`;
    if (process.env["UPDATE"] === "1") writeFileSync(path, document);
    assert.deepEqual(commandsIn(readFileSync(path, "utf8")), commandsIn(document), `the commands in ${path}`);
  }

  #replaced(text: string): string {
    return Object.entries(this.#shown).reduce((whole, [from, to]) => whole.replaceAll(from, to), text);
  }
}

function commandsIn(document: string): string[] {
  return document.split("\n").filter((line) => line.startsWith("$ "));
}

class Collected extends PassThrough {
  text = "";

  constructor() {
    super();
    this.setEncoding("utf8");
    this.on("data", (chunk: string) => {
      this.text += chunk;
    });
  }
}
