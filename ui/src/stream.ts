// Reads the live stream: the text format of server-sent events, and how long to wait before the next connection.
// Everything here is pure. live.ts connects.

/** One event of the stream. */
export interface StreamEvent {
	id: string | null;
	event: string;
	data: string;
}

/** maxEvent bounds one event in characters. A longer one is a fault, and the connection ends. */
export const maxEvent = 16 << 20;

/**
 * EventParser turns pieces of text into events. A piece may end anywhere, also between the two characters of a line
 * end. The id of an event without one is that of the event before it, as the format says.
 */
export class EventParser {
	private rest = "";
	private name = "";
	private lines: string[] = [];
	private id: string | null = null;
	/** retry is the wait that the server asked for in milliseconds, or null. */
	retry: number | null = null;

	/** push returns the events that end within the piece. */
	push(piece: string): StreamEvent[] {
		const events: StreamEvent[] = [];
		this.rest += piece;
		let begin = 0;
		for (;;) {
			const end = this.rest.indexOf("\n", begin);
			if (end < 0) break;
			const line = this.rest.slice(begin, end).replace(/\r$/, "");
			begin = end + 1;
			const event = this.line(line);
			if (event) events.push(event);
		}
		this.rest = this.rest.slice(begin);
		if (this.rest.length > maxEvent) throw new Error("an event of the stream is too long");
		return events;
	}

	private line(line: string): StreamEvent | null {
		if (line === "") return this.finish();
		if (line.startsWith(":")) return null; // a comment keeps the connection open
		const colon = line.indexOf(":");
		const field = colon < 0 ? line : line.slice(0, colon);
		const value = colon < 0 ? "" : line.slice(colon + 1).replace(/^ /, "");
		if (field === "event") this.name = value;
		else if (field === "data") this.lines.push(value);
		else if (field === "id") this.id = value;
		else if (field === "retry" && /^\d+$/.test(value)) this.retry = Number(value);
		return null;
	}

	private finish(): StreamEvent | null {
		const { name, lines } = this;
		this.name = "";
		this.lines = [];
		if (lines.length === 0) return null; // the format ignores an event without data
		return { id: this.id, event: name || "message", data: lines.join("\n") };
	}
}

/**
 * wait is the time in milliseconds before connection attempt n, from 0. It doubles from one second to thirty. chance,
 * from 0 to 1, spreads the clients of a server that restarted over half of it.
 */
export function wait(attempt: number, chance: number): number {
	const full = Math.min(30_000, 1000 * 2 ** Math.min(attempt, 10));
	return full / 2 + (full / 2) * chance;
}
