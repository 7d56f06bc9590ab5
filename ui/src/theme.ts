// Light and dark. The page follows the system until the user chooses, and remembers the choice.

import { Store } from "./store.ts";

/** The choices of the switch. */
export type Theme = "system" | "light" | "dark";

const key = "muster-theme";
const dark = matchMedia("(prefers-color-scheme: dark)");

/** theme is what the user chose. */
export const theme = new Store<Theme>(stored());
/** shade is what is drawn. Charts draw again when it changes, because a canvas does not follow style sheets. */
export const shade = new Store<"light" | "dark">("light");

function stored(): Theme {
	try {
		const text = localStorage.getItem(key);
		return text === "light" || text === "dark" ? text : "system";
	} catch {
		return "system";
	}
}

/** choose sets the theme and remembers it. */
export function choose(next: Theme): void {
	theme.value = next;
	try {
		if (next === "system") localStorage.removeItem(key);
		else localStorage.setItem(key, next);
	} catch {
		// the choice then lasts as long as the page
	}
	paint();
}

/** watchTheme follows the system's setting. */
export function watchTheme(): void {
	dark.addEventListener("change", paint);
	paint();
}

function paint(): void {
	const next = theme.value === "system" ? (dark.matches ? "dark" : "light") : theme.value;
	document.documentElement.dataset.theme = next;
	shade.value = next;
}
