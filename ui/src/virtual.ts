// Which rows of a long list are drawn: those on the screen and some around it. A list of a thousand fleets then costs
// no more than one of thirty.

/** The drawn rows: from first to last, without last. */
export interface Span {
	first: number;
	last: number;
}

/**
 * visible returns the rows to draw. top is how far the beginning of the list is above the upper edge of the screen, in
 * pixels; it is negative while the list begins below it. extra rows are drawn on both sides.
 */
export function visible(rows: number, height: number, top: number, screen: number, extra = 6): Span {
	if (rows === 0 || height <= 0) return { first: 0, last: 0 };
	const first = Math.floor(top / height) - extra;
	const last = Math.ceil((top + screen) / height) + extra;
	return { first: Math.min(rows, Math.max(0, first)), last: Math.max(0, Math.min(rows, last)) };
}
