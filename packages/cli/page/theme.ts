import { effect, signal } from "@preact/signals";

export type Theme = "system" | "light" | "dark";

const key = "stratigraph.theme";

/** What was chosen. */
export const theme = signal<Theme>("system");

/** Applies the chosen theme, and the system's where none was chosen. */
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

/** The theme after this one, for a button that goes through them. */
export function nextTheme(): void {
  theme.value = theme.value === "system" ? "light" : theme.value === "light" ? "dark" : "system";
}
