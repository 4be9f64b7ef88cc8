import { effect, signal } from "@preact/signals";

export type Theme = "system" | "light" | "dark";

const key = "stratigraph.theme";

/** The chosen theme. */
export const theme = signal<Theme>("system");

/** Applies the chosen theme, or the system's if none was chosen. */
export function startTheme(): void {
  const kept = localStorage.getItem(key);
  if (kept === "light" || kept === "dark") theme.value = kept;
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const apply = () => {
    const chosen = theme.value === "system" ? (dark.matches ? "dark" : "light") : theme.value;
    document.documentElement.dataset["theme"] = chosen;
  };
  dark.addEventListener("change", apply);
  effect(() => {
    if (theme.value === "system") localStorage.removeItem(key);
    else localStorage.setItem(key, theme.value);
    apply();
  });
}

/** The next theme, for a button that cycles through them. */
export function nextTheme(): void {
  theme.value = theme.value === "system" ? "light" : theme.value === "light" ? "dark" : "system";
}
