import { randomNumbers } from "./randomNumbers.ts";
import type { RecordedConversation, RecordedMessage } from "./recording.ts";

/**
 * Questions of the user and tool calls of each recorded conversation, in its order. They determine how many messages there are: each
 * conversation begins with one system message, every question but the last is answered, and a tool call is two messages.
 */
// prettier-ignore
const QUESTIONS_AND_CALLS = [
  [8, 8], [6, 0], [5, 7], [11, 20], [7, 6], [7, 6], [6, 6], [8, 5], [9, 0], [26, 0], [11, 9], [8, 10], [6, 2], [15, 14], [7, 8],
  [12, 3], [7, 0], [8, 11], [5, 3], [10, 5], [9, 3], [11, 4], [7, 5], [22, 2], [13, 7], [9, 7], [8, 8], [8, 9], [5, 13], [8, 0],
  [4, 9], [10, 8], [8, 9], [8, 23], [5, 12], [6, 1], [11, 1], [6, 7], [6, 2], [11, 1], [4, 7], [5, 2], [4, 2], [5, 2], [6, 2],
  [7, 4], [6, 3], [7, 3], [4, 2], [5, 1], [7, 6], [6, 5], [4, 27], [10, 14], [8, 0], [7, 6], [6, 5], [11, 0], [6, 16], [14, 0],
] as const;

/** Smallest length, nine deciles and largest length of the recorded messages, in characters. */
const LENGTHS = {
  question: [10, 43, 57, 70, 83, 94, 106, 121, 141, 165, 302],
  answer: [44, 130, 160, 190, 229, 266, 305, 376, 436, 574, 1246],
  arguments: [2, 27, 27, 27, 28, 41, 56, 56, 199, 278, 936],
  result: [0, 2, 19, 315, 629, 674, 699, 776, 872, 979, 6761],
} as const;

/** Length of the system message, which is the same in every conversation. */
const SYSTEM_LENGTH = 6155;

/** A third of the recorded tool results say what an earlier one said. */
const REPEATED_RESULTS = 1 / 3;

/**
 * Sixty conversations of the shape of the recorded ones, the same on every machine: as many turns, tool calls and messages each,
 * lengths of the same distribution, texts that compress about as well. generatedConversations.test.ts says how far they agree.
 */
export function generateConversations(): RecordedConversation[] {
  const writer = new Writer();
  const system = writer.prose("answer", SYSTEM_LENGTH);
  return QUESTIONS_AND_CALLS.map(([questions, calls]) => {
    writer.beginConversation();
    return { traj: conversation(writer, system, questions, calls) };
  });
}

function conversation(writer: Writer, system: string, questions: number, calls: number): RecordedMessage[] {
  const messages: RecordedMessage[] = [{ role: "system", content: system }];
  for (let question = 1; question <= questions; question += 1) {
    messages.push({ role: "user", content: writer.message("question") });
    if (question === questions) break;
    // The calls are spread evenly over the questions that are answered.
    const share = (n: number): number => Math.round((calls * n) / (questions - 1));
    for (let call = share(question - 1); call < share(question); call += 1)
      messages.push(...writer.toolCall());
    messages.push({ role: "assistant", content: writer.message("answer") });
  }
  return messages;
}

/** How much of what is said is about the conversation's own topic. */
const OF_THE_TOPIC = 0.6;

/** What one conversation is about. */
interface Topic {
  readonly question: readonly string[];
  readonly answer: readonly string[];
  readonly records: readonly string[];
  /** Tool results so far. */
  readonly results: string[];
}

/** Writes texts of stock sentences and records of a small database, as customer service does. */
class Writer {
  readonly #random = randomNumbers(1);
  readonly #words = Array.from({ length: 1500 }, () => this.#letters(this.#between(2, 9)));
  readonly #sentences = {
    question: Array.from({ length: 500 }, () => this.#sentence(7, 16)),
    answer: Array.from({ length: 450 }, () => this.#sentence(8, 20)),
  };
  readonly #records = Array.from({ length: 400 }, () => this.#record());
  #topic = this.#newTopic();

  /** What follows is about other records, in other words. */
  beginConversation(): void {
    this.#topic = this.#newTopic();
  }

  #newTopic(): Topic {
    const some = <Item>(items: readonly Item[], count: number): Item[] =>
      Array.from({ length: count }, () => this.#oneOf(items, 1));
    return {
      question: some(this.#sentences.question, 12),
      answer: some(this.#sentences.answer, 30),
      records: some(this.#records, 9),
      results: [],
    };
  }

  message(kind: "question" | "answer"): string {
    return this.prose(kind, this.#length(kind));
  }

  /** Stock sentences, some of which differ by a word, cut to a length in characters. */
  prose(kind: "question" | "answer", length: number): string {
    let text = "";
    while (text.length < length) {
      const sentences = this.#random() < OF_THE_TOPIC ? this.#topic[kind] : this.#sentences[kind];
      text += `${this.#varied(this.#oneOf(sentences, 1.6))} `;
    }
    return text.slice(0, length);
  }

  toolCall(): RecordedMessage[] {
    const id = `call_${this.#letters(24)}`;
    const name = this.#oneOf(TOOLS, 2);
    const call = { id, function: { name, arguments: this.#arguments() } };
    return [
      { role: "assistant", content: null, tool_calls: [call] },
      { role: "tool", tool_call_id: id, name, content: this.#result() },
    ];
  }

  /** JSON of two fields at most: a name, and a part of a record as text. */
  #arguments(): string {
    const length = this.#length("arguments");
    if (length < 20) return "{}";
    let text = "";
    while (text.length < length) text += this.#oneOf(this.#topic.records, 1).slice(this.#between(0, 60));
    return JSON.stringify({ record_id: text.replaceAll('"', "'").slice(0, length - 16) });
  }

  #result(): string {
    const { records, results } = this.#topic;
    if (results.length > 0 && this.#random() < REPEATED_RESULTS) return this.#oneOf(results, 1);
    const length = this.#length("result");
    let text = "";
    while (text.length < length) text += this.#oneOf(records, 1.2);
    results.push(text.slice(0, length));
    return text.slice(0, length);
  }

  #record(): string {
    const place = (): string => this.#letters(3).toUpperCase();
    return JSON.stringify({
      reservation_id: this.#letters(6).toUpperCase(),
      user_id: `${this.#word()}_${this.#word()}_${this.#between(1000, 9999)}`,
      flights: Array.from({ length: this.#between(1, 4) }, () => ({
        origin: place(),
        destination: place(),
        flight_number: `HAT${this.#between(100, 399)}`,
        date: `2024-05-${this.#between(10, 31)}`,
        price: this.#between(50, 999),
      })),
      status: this.#random() < 0.8 ? "available" : "cancelled",
    });
  }

  #varied(sentence: string): string {
    if (this.#random() < 0.6) return sentence;
    const words = sentence.split(" ");
    words[Math.floor(this.#random() * words.length)] = this.#word();
    return words.join(" ");
  }

  #sentence(fewest: number, most: number): string {
    const words = Array.from({ length: this.#between(fewest, most) }, () => this.#word());
    return `${words.join(" ")}.`;
  }

  #word(): string {
    return this.#oneOf(this.#words, 2.5);
  }

  /** A length of the recorded distribution, in characters. */
  #length(kind: keyof typeof LENGTHS): number {
    const deciles = LENGTHS[kind];
    const position = this.#random() * (deciles.length - 1);
    const below = Math.floor(position);
    const [from, to] = [deciles[below]!, deciles[below + 1] ?? deciles[below]!];
    // The longest tenth has few that are much longer than the others.
    const share = (position - below) ** (below === deciles.length - 2 ? 3 : 1);
    return Math.round(from + (to - from) * share);
  }

  /** The higher `skew`, the more often the first ones. */
  #oneOf<Item>(items: readonly Item[], skew: number): Item {
    return items[Math.floor(items.length * this.#random() ** skew)]!;
  }

  #between(least: number, most: number): number {
    return least + Math.floor(this.#random() * (most - least + 1));
  }

  #letters(length: number): string {
    return Array.from({ length }, () => String.fromCharCode(97 + Math.floor(this.#random() * 26))).join("");
  }
}

const TOOLS = [
  "get_reservation_details",
  "search_direct_flight",
  "update_reservation_flights",
  "get_user_details",
  "calculate",
  "cancel_reservation",
];
