import { render } from "preact";
import { loadSession } from "./api/client.ts";
import { findToken } from "./api/token.ts";
import { App } from "./app.tsx";
import "./design/base.css";
import "./design/tokens.css";
import { startKeys } from "./keys.ts";
import { startRouter } from "./router.ts";
import { startTheme } from "./theme.ts";

startTheme();
await findToken();
startRouter();
startKeys();
// The error is ignored: the views send requests, too, and show errors.
loadSession().catch(() => undefined);
render(<App />, document.querySelector("#app")!);
