const ts = "2026-01-01T00:00:00.000Z";
const id = "1f1e4e21-6814-6b30-8000-a187f045e8ed";

/** A metadata section as a body holds it: varint length and name of its type, then its bytes. */
function metadata(value: unknown): string {
  const json = JSON.stringify(value);
  return `\u0004json${String.fromCharCode(json.length)}${json}`;
}

/** What LangGraph stores besides messages: official checkpoints, Send, Command, Interrupt, documents. */
export const values: readonly string[] = [
  '{"pageContent":"","metadata":{"source":"","loc":{"lines":{"from":1,"to":2}}},"id":""}',
  '{"lg_name":"Command","update":{"messages":[]},"resume":"","goto":["__end__"],"graph":"__parent__"}',
  '{"lg_name":"Send","node":"tools","args":{"messages":[]}}',
  '{"node":"tools","args":{"name":"","args":{},"id":"call_","type":"tool_call"}}',
  '{"id":"7d456d7f01f86e9fdf33340f2fd26c67","value":{"action_requests":[{"name":"","args":{},"description":""}],' +
    '"review_configs":[{"action_name":"","allowed_decisions":["approve","edit","reject"]}]},"when":"during","resumable":true}',
  '{"decisions":[{"type":"approve"}]}',
  '{"role":"user","content":""}',
  '{"lc":2,"type":"undefined","id":["Set"],"method":null,"args":[[]],"kwargs":{}}',
  '{"lc":2,"type":"constructor","id":["Error"],"method":null,"args":[""],"kwargs":{}}',
  JSON.stringify({
    v: 4,
    id,
    ts,
    channel_versions: { __start__: 1 },
    versions_seen: { __input__: {} },
    pending_sends: [],
  }),
  '["__error__",{"name":"Error","message":"","stack":"Error: \\n    at "}]',
];

/** Our own record bodies and batches of pending writes (docs/format.md): one or more per superstep. */
export const records: readonly string[] = [
  '[[0,"messages",[2,"json"]],[1,"__pregel_tasks",[64,"json"]],[2,"branch:to:agent",[4,"json"]],[-1,"__error__",0],' +
    '[-2,"__scheduled__",0],[-3,"__interrupt__",[96,"json"]],[-4,"__resume__",[5,"json"]],[0,"__return__",0],[0,"__no_writes__",[4,"json"]]]null',
  JSON.stringify({
    v: 4,
    ts,
    c: [
      ["__start__", 2],
      ["messages", 3, 0],
      ["branch:to:agent", 3, [4, "json"]],
      ["branch:to:tools", 4],
      ["__pregel_tasks", 4, 1],
      ["branch:to:__end__", 4],
      ["structuredResponse", 4],
      ["files", 4],
      ["todos", 4],
    ],
    s: [
      ["__input__", []],
      ["__start__", [[0, 1]]],
      ["agent", [[2, 2]]],
      ["model_request", [[2, 2]]],
      [
        "__interrupt__",
        [
          [1, 3],
          [0, 2],
          [2, 3],
          [3, 3],
        ],
      ],
      ["tools", [[3, 3]]],
    ],
  }) + metadata({ source: "update", step: 2, parents: { "": id }, writes: null, thread_id: "" }),
  '[[0,"messages",0],[1,"branch:to:tools",[4,"json"]]]null',
  '[[0,"messages",0],[1,"branch:to:agent",[4,"json"]]]null',
  JSON.stringify({
    v: 4,
    ts,
    c: [["__start__", 1, [2, "json"]]],
    s: [["__input__", []]],
  }) + metadata({ source: "input", step: -1, parents: {} }),
  JSON.stringify({
    v: 4,
    ts,
    c: [
      ["__start__", 2],
      ["messages", 12, 0],
      ["branch:to:agent", 12, [4, "json"]],
      ["branch:to:tools", 11],
    ],
    s: [
      ["__input__", []],
      ["__start__", [[0, 11]]],
      ["agent", [[2, 10]]],
      ["tools", [[3, 11]]],
    ],
  }) + metadata({ source: "loop", step: 12, parents: {} }),
];
