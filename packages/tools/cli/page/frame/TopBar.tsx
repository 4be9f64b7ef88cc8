import type { VNode } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { may, session } from "../api/client.ts";
import { IconButton } from "../design/Button.tsx";
import { Kbd } from "../design/Kbd.tsx";
import { Pill } from "../design/Pill.tsx";
import { Icon } from "../icons.tsx";
import { useKeys } from "../keys.ts";
import { href, navigate, route, setQuery } from "../router.ts";
import { nextTheme, theme } from "../theme.ts";
import { helpOpen } from "./Help.tsx";
import { Mark } from "./Mark.tsx";

/** Shows which storage is open and what is allowed, and has the search. */
export function TopBar(): VNode {
  const found = session.value;
  return (
    <header class="top">
      <a class="brand" href="/" aria-label="Stratigraph, all threads">
        <Mark />
        <span class="brand-name">Stratigraph</span>
      </a>
      {found === undefined ? null : (
        <span class="top-storage mono clip" title={`${found.storage}\nfrom ${found.origin}`}>
          {found.storage}
        </span>
      )}
      {found === undefined || may("write") ? null : (
        <Pill
          icon="lock"
          title="Nothing can be changed from this page. To allow it: stratigraph inspect --allow write"
        >
          Read-only
        </Pill>
      )}
      <div class="spacer" />
      <Search />
      <IconButton icon={theme.value} label={`Theme: ${theme.value}. Change it`} onClick={nextTheme} />
      <IconButton icon="help" label="Keyboard help" onClick={() => (helpOpen.value = true)} />
    </header>
  );
}

/** How long to wait for more typing before searching. */
const pauseMs = 150;

/** Searches the ids of threads: at once in the list of threads, with Enter from anywhere else. */
function Search(): VNode {
  const input = useRef<HTMLInputElement>(null);
  const onList = route.value.view === "threads";
  const asked = onList ? (route.value.query.get("q") ?? "") : "";
  const [text, setText] = useState(asked);
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined);
  useEffect(() => {
    if (document.activeElement !== input.current) setText(asked);
  }, [asked]);
  useKeys(
    {
      "/": {
        label: "Search threads",
        run: () => {
          input.current?.focus();
          input.current?.select();
        },
      },
    },
    "Everywhere",
  );
  const go = (q: string) => {
    clearTimeout(timer.current);
    if (route.value.view === "threads") setQuery({ q });
    else navigate(href("threads", {}, { q }));
  };
  return (
    <search class="top-search">
      <Icon name="search" size={14} />
      <input
        ref={input}
        type="search"
        class="input"
        aria-label="Search threads"
        placeholder="Search threads"
        value={text}
        spellcheck={false}
        autocomplete="off"
        onInput={(event) => {
          const { value } = event.currentTarget;
          setText(value);
          clearTimeout(timer.current);
          if (onList) timer.current = setTimeout(() => go(value), pauseMs);
        }}
        onKeyDown={(event) => {
          if (event.key === "Enter") {
            go(text);
            document.querySelector<HTMLElement>("main .list")?.focus();
          } else if (event.key === "ArrowDown") document.querySelector<HTMLElement>("main .list")?.focus();
          else if (event.key === "Escape") {
            if (text === "") input.current?.blur();
            else {
              setText("");
              if (onList) go("");
            }
          } else return;
          event.preventDefault();
        }}
      />
      <Kbd keys="/" />
    </search>
  );
}
