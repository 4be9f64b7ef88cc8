import { AIMessage, type BaseMessage, HumanMessage, ToolMessage } from "@langchain/core/messages";
import { randomNumbers } from "./randomNumbers.ts";

/** Makes the messages of turns: a question, a tool call, its JSON result and an answer, about 4.9 kB serialised. */
export class TurnMaker {
  readonly #random: () => number;
  readonly #words: string[];
  #turns = 0;

  constructor(seed = 1) {
    this.#random = randomNumbers(seed);
    this.#words = Array.from({ length: 4096 }, () => this.#letters(2 + Math.floor(this.#random() * 8)));
  }

  turn(): BaseMessage[] {
    const turn = this.#turns++;
    const call = { id: `call_${this.#letters(24)}`, name: "search_records", type: "tool_call" as const };
    const args = { query: this.text(6), limit: Math.floor(this.#random() * 100) };
    return [
      new HumanMessage({ id: `h${turn}`, content: this.text(65) }),
      new AIMessage({ id: `c${turn}`, content: "", tool_calls: [{ ...call, args }] }),
      new ToolMessage({ id: `t${turn}`, tool_call_id: call.id, name: call.name, content: this.#records(14) }),
      new AIMessage({ id: `a${turn}`, content: this.text(225) }),
    ];
  }

  /** Words of a vocabulary of 4,096 in which a few are frequent, as in natural text. */
  text(words: number): string {
    return Array.from({ length: words }, () => {
      const rank = Math.floor(this.#words.length * this.#random() ** 2);
      return this.#words[rank];
    }).join(" ");
  }

  /** A vector as embedding models return it: numbers of 32-bit precision around zero. */
  embedding(dimensions: number): number[] {
    return Array.from({ length: dimensions }, () => Math.fround((this.#random() - 0.5) / 8));
  }

  #records(rows: number): string {
    return JSON.stringify(
      Array.from({ length: rows }, () => ({
        record_id: this.#letters(8),
        status: this.#random() < 0.8 ? "available" : "cancelled",
        price_in_cents: Math.floor(this.#random() * 100_000),
        remark: this.text(8),
      })),
    );
  }

  #letters(length: number): string {
    return Array.from({ length }, () => String.fromCharCode(97 + Math.floor(this.#random() * 26))).join("");
  }
}
