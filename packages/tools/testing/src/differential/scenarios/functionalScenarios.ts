import { Command, entrypoint, getPreviousState, interrupt, task } from "@langchain/langgraph";
import type { BaseCheckpointSaver } from "@langchain/langgraph-checkpoint";
import { scenarioGroup } from "../scenario.ts";
import { finishInTurn } from "../../finishInTurn.ts";

const sum = (checkpointer: BaseCheckpointSaver) =>
  entrypoint({ name: "sum", checkpointer }, async (input: number) => {
    const before = getPreviousState<number>() ?? 0;
    return entrypoint.final({ value: { before, now: before + input }, save: before + input });
  });

const essay = () => {
  const finish = finishInTurn();
  let broken = 1;
  let runs = 0;
  const write = task("write", async (topic: string, place: number) => {
    runs += 1;
    await finish(place);
    return `about ${topic}, after ${runs} runs`;
  });
  const check = task({ name: "check" }, async (text: string) => {
    if (broken-- > 0) throw new Error("check is broken");
    return text.length;
  });
  return (checkpointer: BaseCheckpointSaver) =>
    entrypoint({ name: "essay", checkpointer }, async (topic: string) => {
      const texts = await Promise.all([write(topic, 2), write(`${topic} too`, 0), write("more", 1)]);
      const answer: string = interrupt({ texts });
      const length = await check(texts.join(" "));
      return { texts, answer, length };
    });
};

/** LangGraph's functional API: entrypoint and task. */
export const functionalScenarios = scenarioGroup({
  "an entrypoint that remembers": async (stage) => {
    for (const input of [1, 10, 100]) await stage.turn(sum, input);
  },

  "an entrypoint called from an old checkpoint": async (stage) => {
    for (const input of [1, 10, 100]) await stage.turn(sum, input);
    const ends = (await stage.history(sum)).filter(({ next }) => next.length === 0);
    await stage.turn(sum, 5, stage.at(ends.at(-1)?.config));
    await stage.turn(sum, 1);
  },

  "tasks, a question, a failure": async (stage) => {
    const build = essay();
    await stage.turn(build, "cats");
    await stage.turn(build, new Command({ resume: "fine" }));
    await stage.turn(build, null);
    await stage.turn(build, "dogs");
    await stage.turn(build, new Command({ resume: "also fine" }));
  },
});
