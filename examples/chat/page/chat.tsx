import { useStream } from "@langchain/react";
import { useEffect, useState } from "react";
import { createRoot } from "react-dom/client";

const post = async (path: string): Promise<{ thread_id: string; threadId: string }> => {
  const response = await fetch(path, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: "{}",
  });
  return await response.json();
};

/** The thread is in the address, so that a reloaded page is the same chat. */
function App() {
  const [threadId, setThreadId] = useState(location.hash.slice(1));
  useEffect(() => {
    if (threadId === "") void post("/api/threads").then(({ thread_id }) => setThreadId(thread_id));
    else location.hash = threadId;
  }, [threadId]);
  return threadId === "" ? null : <Chat key={threadId} threadId={threadId} open={setThreadId} />;
}

function Chat({ threadId, open }: { threadId: string; open: (threadId: string) => void }) {
  const stream = useStream({ apiUrl: `${location.origin}/api`, assistantId: "agent", threadId });
  const { messages, interrupt, isLoading, isThreadLoading } = stream;
  const [text, setText] = useState("");
  const [isCutOff, setCutOff] = useState(false);

  // A run that ended with its server left nodes that are due.
  useEffect(() => {
    if (isLoading) setCutOff(false);
    else
      void stream.client.threads
        .getState(threadId)
        .then(({ next, tasks }) =>
          setCutOff(next.length > 0 && tasks.every((task) => !task.interrupts?.length)),
        );
  }, [threadId, isLoading]);

  const send = () => {
    setText("");
    void stream.submit({ messages: [{ type: "human", content: text }] });
  };
  // The question is named: a page that was loaded later hasn't seen it asked.
  const answer = (text: string) =>
    void stream.respond(text, { interruptId: interrupt!.id!, namespace: interrupt!.ns ?? [] });
  const edit = async (id: string, content: string) => {
    const { threadId: edited } = await post(`/edit/${threadId}/${id}`);
    sessionStorage.setItem(edited, content);
    open(edited);
  };

  // The edited message is sent by the chat of the fork.
  useEffect(() => {
    const content = sessionStorage.getItem(threadId);
    if (content === null || isThreadLoading) return;
    sessionStorage.removeItem(threadId);
    void stream.submit({ messages: [{ type: "human", content }] });
  }, [threadId, isThreadLoading]);

  return (
    <main data-loading={isLoading || isThreadLoading}>
      {messages.map((message, n) => (
        <p key={message.id ?? n} className={message.type}>
          <span>{message.text}</span>
          {message.type === "human" && (
            <button
              onClick={() => {
                const content = prompt("Edit", message.text);
                if (content !== null) void edit(message.id!, content);
              }}
            >
              Edit
            </button>
          )}
        </p>
      ))}
      {interrupt !== undefined && !isLoading && (
        <form>
          {String(interrupt.value)}
          <button type="button" onClick={() => answer("yes")}>
            Yes
          </button>
          <button type="button" onClick={() => answer("no")}>
            No
          </button>
        </form>
      )}
      {isCutOff && <button onClick={() => void stream.submit(null)}>Go on</button>}
      <input value={text} onChange={(event) => setText(event.target.value)} placeholder="Message" />
      <button onClick={send} disabled={isLoading || text === ""}>
        Send
      </button>
    </main>
  );
}

createRoot(document.querySelector("#chat")!).render(<App />);
