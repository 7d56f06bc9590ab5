import assert from "node:assert/strict";
import { test } from "node:test";

// A browser calls these before each frame, and never while the page is hidden.
const frames: (() => void)[] = [];
(globalThis as Record<string, unknown>).requestAnimationFrame = (f: () => void) => frames.push(f);
const { Store } = await import("../src/store.ts");

function frame(): void {
	for (const f of frames.splice(0)) f();
}

test("many changes between two frames are drawn once, and none while the page is hidden", () => {
	const s = new Store(0);
	let drawn = 0;
	const end = s.subscribe(() => drawn++);
	for (let i = 1; i <= 100; i++) s.value = i;
	assert.equal(drawn, 0, "something was drawn without a frame");
	assert.equal(frames.length, 1, "more than one frame was asked for");
	frame();
	assert.equal(drawn, 1);
	s.value = 100;
	assert.equal(frames.length, 0, "an equal value asked for a frame");
	s.value = 101;
	end();
	frame();
	assert.equal(drawn, 1, "a listener was called after its end");
});
