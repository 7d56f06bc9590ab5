package controller

import (
	"slices"

	"github.com/muster-scale/muster/roster"
)

// notes are what the fleet's own service says, and that reports could not be read.
func (st *State) notes() (notes []string) {
	if st.listed.Service != nil {
		notes = st.listed.Service.Notes
	}
	if st.unread != "" {
		notes = append(slices.Clip(notes), "reports of workers are unknown: "+st.unread)
	}
	return notes
}

// departures lowers the size asked for by members that leave by themselves, because nobody answers them, as far as they
// are not needed. Else others would be launched in their place, to leave as they did. Where a service chooses who ends,
// it replaces them by itself.
func (w *write) departures(members []string) {
	if w.settings.Unreported {
		return
	}
	for _, id := range members {
		if !w.unsure() && w.state.desired > max(w.settings.Limits.Min, w.out.Decision.Floor) {
			w.state.desired--
		}
		w.changed(id, roster.Departed, "no message came for it, and nobody answers it")
	}
}
