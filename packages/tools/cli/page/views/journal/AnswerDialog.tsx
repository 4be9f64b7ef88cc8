import type { OutputOf } from "../../../src/operations/index.ts";
import type { VNode } from "preact";
import { useState } from "preact/hooks";
import { call, type ApiError } from "../../api/client.ts";
import { errorFrom } from "../../api/resource.ts";
import { Button } from "../../design/Button.tsx";
import { Dialog } from "../../design/Dialog.tsx";
import { ErrorBox } from "../../design/ErrorBox.tsx";
import { Field } from "../../design/Field.tsx";
import { toast } from "../../design/Toast.tsx";
import { answersTo, asksFor, resultError, type Answer, type OpenQuestion } from "./texts.ts";

/** The name under which the browser remembers who answered last. */
const authorKey = "stratigraph.author";

interface AnswerDialogProps {
  readonly question: OpenQuestion;
  readonly onClose: () => void;
  readonly onAnswered: () => void;
}

/** Asks for an answer, shows what the answer will do, and writes it after a confirmation. */
export function AnswerDialog({ question, onClose, onAnswered }: AnswerDialogProps): VNode {
  const { thread, kind, tool } = question;
  const [given, setGiven] = useState<Answer>();
  const [result, setResult] = useState("");
  const [reason, setReason] = useState("");
  const [author, setAuthor] = useState(() => localStorage.getItem(authorKey) ?? "");
  const [preview, setPreview] = useState<OutputOf<"answer">>();
  const [error, setError] = useState<ApiError>();
  const [busy, setBusy] = useState(false);
  const wrongResult = resultError(result);
  const change = (set: () => void) => {
    setPreview(undefined);
    setError(undefined);
    set();
  };
  const send = async (dryRun: boolean) => {
    if (given === undefined) return;
    setBusy(true);
    try {
      const found = await call("answer", {
        thread,
        call: question.call,
        answer: given,
        author,
        dryRun,
        ...(given === "happened" && result.trim() !== "" ? { result } : {}),
        ...(kind === "approval" && reason !== "" ? { reason } : {}),
      });
      localStorage.setItem(authorKey, author);
      if (dryRun) setPreview(found);
      else {
        toast("Answered. Now continue the run.");
        onAnswered();
      }
    } catch (thrown) {
      setError(errorFrom(thrown));
    }
    setBusy(false);
  };
  const ready = given !== undefined && author.trim() !== "" && wrongResult === undefined;
  return (
    <Dialog
      open
      title={asksFor(question, tool)}
      onClose={onClose}
      actions={
        <>
          <Button onClick={onClose}>Cancel</Button>
          {preview === undefined ? (
            <Button tone="primary" disabled={!ready} busy={busy} onClick={() => void send(true)}>
              Preview
            </Button>
          ) : (
            <Button tone="primary" busy={busy} onClick={() => void send(false)}>
              Write the answer
            </Button>
          )}
        </>
      }
    >
      <div class="journal-answer">
        <fieldset class="journal-choices">
          <legend class="unseen">Answer</legend>
          {answersTo(question).map(({ value, label, hint }) => (
            <label key={value} class={given === value ? "journal-choice is-chosen" : "journal-choice"}>
              <input
                type="radio"
                name="answer"
                checked={given === value}
                onChange={() => change(() => setGiven(value))}
              />
              <span>
                <strong>{label}</strong>
                <span class="dim">{hint}</span>
              </span>
            </label>
          ))}
        </fieldset>
        {given === "happened" ? (
          <Field
            label="Result"
            value={result}
            onInput={(text) => change(() => setResult(text))}
            rows={3}
            mono
            placeholder={'"receipt 7"'}
            error={wrongResult}
            hint="The result of the call, as JSON. If it is left empty, the agent gets nothing."
          />
        ) : null}
        {kind === "approval" && given !== undefined ? (
          <Field
            label="Reason"
            value={reason}
            onInput={(text) => change(() => setReason(text))}
            hint={given === "deny" ? "The model is told." : "Kept in the trail."}
          />
        ) : null}
        <Field
          label="Who answers"
          value={author}
          onInput={(text) => change(() => setAuthor(text))}
          placeholder="Your name"
          hint="The trail records it."
        />
        {preview === undefined ? null : (
          <p class="journal-preview" role="status">
            {preview.does}
          </p>
        )}
        {error === undefined ? null : <ErrorBox error={error} />}
      </div>
    </Dialog>
  );
}
