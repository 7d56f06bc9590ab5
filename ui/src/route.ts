// The address of a page: what stands behind the # of the URL. The server never sees it, so a path prefix, a proxy and a
// permalink need no care.

/** A page and its parameters. */
export interface Route {
	page: string;
	/** name is the fleet, queue or decision that the page shows; empty for none. */
	name: string;
	query: Record<string, string>;
}

/** pages lists the pages in the order of the navigation. The first one is the home page. */
export const pages = ["fleets", "decisions", "queues", "incidents", "whatif", "configuration"] as const;

const known: readonly string[] = [...pages, "fleet", "decision"];

/** parse reads the part of a URL from # on. An unknown page becomes the home page. */
export function parse(hash: string): Route {
	const text = hash.replace(/^#?\/?/, "");
	const mark = text.indexOf("?");
	const path = mark < 0 ? text : text.slice(0, mark);
	const [page = "", ...rest] = path.split("/");
	const query: Record<string, string> = {};
	for (const [k, v] of new URLSearchParams(mark < 0 ? "" : text.slice(mark + 1))) query[k] = v;
	if (!known.includes(page)) return { page: "fleets", name: "", query: {} };
	return { page, name: decoded(rest.join("/")), query };
}

function decoded(text: string): string {
	try {
		return decodeURIComponent(text);
	} catch {
		return text; // a broken escape names nothing, and the page says so
	}
}

/** link prints the address of a page. Parameters without a value are left out. */
export function link(page: string, name = "", query: Record<string, string | undefined> = {}): string {
	const kept = Object.entries(query).filter((e): e is [string, string] => e[1] !== undefined && e[1] !== "");
	const search = new URLSearchParams(kept).toString();
	return `#/${page}${name ? `/${encodeURIComponent(name)}` : ""}${search ? `?${search}` : ""}`;
}
