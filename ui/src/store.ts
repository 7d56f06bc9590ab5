// A value that components follow. All changes between two frames are drawn once, and a hidden page draws nothing.

import { useEffect, useState } from "preact/hooks";

type Listener = () => void;

const waiting = new Set<Listener>();
let scheduled = false;

// schedule calls the listeners before the next frame. A browser calls no frame while the page is hidden; the listeners
// then wait until it is shown.
function schedule(listeners: Iterable<Listener>): void {
	for (const l of listeners) waiting.add(l);
	if (scheduled || waiting.size === 0) return;
	scheduled = true;
	requestAnimationFrame(() => {
		scheduled = false;
		const now = [...waiting];
		waiting.clear();
		for (const l of now) l();
	});
}

/** A value with listeners. */
export class Store<T> {
	private readonly listeners = new Set<Listener>();
	constructor(private current: T) {}

	get value(): T {
		return this.current;
	}

	set value(next: T) {
		if (Object.is(next, this.current)) return;
		this.current = next;
		schedule(this.listeners);
	}

	/** subscribe returns the function that ends the subscription. */
	subscribe(l: Listener): () => void {
		this.listeners.add(l);
		return () => {
			this.listeners.delete(l);
			waiting.delete(l);
		};
	}
}

/** useStore returns the value, and draws the component again when what pick returns has changed. */
export function useStore<T, P = T>(store: Store<T>, pick: (value: T) => P = (v) => v as unknown as P): P {
	const [, draw] = useState(0);
	const picked = pick(store.value);
	useEffect(() => {
		let last = picked;
		const check = () => {
			const next = pick(store.value);
			if (Object.is(next, last)) return;
			last = next;
			draw((n) => n + 1);
		};
		check();
		return store.subscribe(check);
	}, [store, picked]);
	return picked;
}
