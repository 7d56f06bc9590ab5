package transport

import "testing"

// A call that ends on a goroutine of its own may do so at any point of a round. If the round took its wake-up for one
// of the queue, the answer would wait for the next event, which may be minutes away.
func TestWhatIsPostedAtTheEndOfARoundIsDoneBeforeTheLoopSleeps(t *testing.T) {
	l, err := newLoop(&Server{})
	if err != nil {
		t.Fatal(err)
	}
	done := false
	l.post(func() { done = true })
	l.takeUp()
	if !done && !l.woken.Load() {
		t.Fatal("the wake-up was taken up, and what it announced was not done")
	}
	l.stop(true)
	l.run()
}
