package controller

import "github.com/muster-scale/muster/roster"

// exchange sees to it that those leave that are idle.
func (w *write) exchange() {
	if w.settings.Unreported || w.unsure() {
		return
	}
	kept, asked := w.state.roster.Exchange(w.now(), w.rules)
	for i := range kept {
		w.changed(kept[i], roster.Kept, "holds a message, and another one is idle")
		w.changed(asked[i], roster.AskedToDrain, "is idle, in place of one that holds a message")
	}
}
