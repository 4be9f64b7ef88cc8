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
// Views ask again; what went wrong here, they show.
loadSession().catch(() => undefined);
render(<App />, document.querySelector("#app")!);
