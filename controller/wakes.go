package controller

import "context"

// Wake makes the loop look and step soon, and has sources that look rarely look anew. It never blocks, and many calls
// may cause one step.
func (l *Loop) Wake() {
	for _, e := range l.o.Expecters {
		e.Expect()
	}
	l.rouse()
}

func (l *Loop) rouse() {
	select {
	case l.wake <- struct{}{}:
	default:
	}
}

// forwardWakes lets what the notifiers say wake the loop, until ctx ends.
func (l *Loop) forwardWakes(ctx context.Context) {
	for _, n := range l.o.Wakes {
		wakes, stop := n.Wakes()
		l.running.Go(func() {
			defer stop()
			for {
				select {
				case <-ctx.Done():
					return
				case <-wakes:
					l.rouse()
				}
			}
		})
	}
}
