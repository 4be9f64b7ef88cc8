import { PassThrough } from "node:stream";

/** A stream that collects what is written to it, and on which a person sits if `isTTY`. */
export class Screen extends PassThrough {
  text = "";
  isTTY = false;
  setRawMode = (): this => this;

  constructor() {
    super();
    this.on("data", (chunk: Buffer) => (this.text += chunk.toString()));
  }
}
