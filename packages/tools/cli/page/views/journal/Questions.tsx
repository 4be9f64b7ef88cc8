import type { VNode } from "preact";
import { useState } from "preact/hooks";
import { may } from "../../api/client.ts";
import { Button } from "../../design/Button.tsx";
import { Pill } from "../../design/Pill.tsx";
import { Id, Time } from "../../design/Texts.tsx";
import { href } from "../../router.ts";
import { inline } from "../../values/describe.ts";
import { AnswerDialog } from "./AnswerDialog.tsx";
import { asksFor, type OpenQuestion } from "./texts.ts";

/** How many characters of the arguments a question shows. */
const argsLength = 160;

interface QuestionsProps {
  readonly questions: readonly OpenQuestion[];
  readonly onAnswered: () => void;
}

/** The questions that a person must answer, each with a button to do so. */
export function Questions({ questions, onAnswered }: QuestionsProps): VNode | null {
  const [open, setOpen] = useState<OpenQuestion>();
  if (questions.length === 0) return null;
  const count = questions.filter(({ answered }) => !answered).length;
  return (
    <section class="journal-questions" aria-label="Open questions">
      <h2>{count === 0 ? "Answered" : count === 1 ? "1 open question" : `${count} open questions`}</h2>
      <ul>
        {questions.map((question) => (
          <Question key={question.call} question={question} onOpen={() => setOpen(question)} />
        ))}
      </ul>
      {open === undefined ? null : (
        <AnswerDialog
          question={open}
          onClose={() => setOpen(undefined)}
          onAnswered={() => {
            setOpen(undefined);
            onAnswered();
          }}
        />
      )}
    </section>
  );
}

function Question({
  question,
  onOpen,
}: {
  readonly question: OpenQuestion;
  readonly onOpen: () => void;
}): VNode {
  const { kind, tool, args, why, asked, answered, begun, key, checkpoint, thread } = question;
  const writable = may("write");
  return (
    <li class="journal-question">
      <div class="journal-question-text">
        <p class="journal-question-call mono clip">
          <strong>{tool}</strong>({args === undefined ? "erased" : inline(args.value, argsLength)})
        </p>
        <p>
          {asksFor(question, "it")}
          {kind === "approval" ? " The policy asks: " : " "}
          <span class="dim">{why}</span>
        </p>
        <p class="journal-question-facts faint">
          {begun === undefined ? null : (
            <span>
              begun <Time at={begun} /> ago
            </span>
          )}
          {asked ? <span>the graph is stopped by it</span> : null}
          {kind === "ambiguous" && key !== undefined ? (
            <span>
              look for <Id value={key} short={`${key.slice(0, 16)}…`} of="idempotency key" />
            </span>
          ) : null}
          {checkpoint === undefined ? null : (
            <a href={href("checkpoint", { thread, checkpoint })}>checkpoint</a>
          )}
        </p>
      </div>
      {answered ? (
        <Pill tone="green" title="The run uses the answer when it continues">
          Answered
        </Pill>
      ) : (
        <Button
          tone="primary"
          size="small"
          disabled={!writable}
          title={writable ? undefined : "Read-only: start the inspector with --allow write"}
          onClick={onOpen}
        >
          Answer…
        </Button>
      )}
    </li>
  );
}
