import { expect, test } from "vitest";
import { EventParser } from "../../../page/api/sse.ts";

const stream =
  ': heartbeat\n\nevent: revision\r\ndata: {"thread":"ada"}\r\n\r\ndata: one\ndata:two\nid: 7\r\n\r\nevent: threads\ndata: {}\r\rdata\n\nevent: nothing\n\n';
const events = [
  { event: "revision", data: '{"thread":"ada"}' },
  { event: "message", data: "one\ntwo" },
  { event: "threads", data: "{}" },
  { event: "message", data: "" },
];

test("events come out whole, wherever the stream is cut", () => {
  expect(new EventParser().push(stream)).toEqual(events);
  for (let cut = 1; cut < stream.length; cut += 1) {
    const parser = new EventParser();
    expect([...parser.push(stream.slice(0, cut)), ...parser.push(stream.slice(cut))]).toEqual(events);
  }
  const parser = new EventParser();
  expect([...stream].flatMap((character) => parser.push(character))).toEqual(events);
});

test("an event without its end isn't returned yet", () => {
  const parser = new EventParser();
  expect(parser.push("event: a\ndata: 1\n")).toEqual([]);
  expect(parser.push("\n")).toEqual([{ event: "a", data: "1" }]);
});
