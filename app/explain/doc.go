// Package explain says why a fleet has its size, as muster explain does. [Find] finds a recorded decision in the
// history, [Explained.Present] replaces it by the current decision of the running muster up, and [Explained.Print]
// prints it. [Verify] recomputes recorded decisions; [Against] compares with another system that sizes the fleet.
//
//	h, err := sharing.OpenPast(ctx, c, path)
//	e, err := explain.Find(ctx, h, "thumbnails", time.Time{}, 0)   // the last one
//	e, err = e.Present(ctx, c, "thumbnails")                       // or the current one
//	e.Print(os.Stdout)
//
// A decision explains itself: it carries what was seen and each step of its arithmetic. This package only finds the
// decision, computes it again with other backlogs to say what would change it (package controller/audit), and prints.
// It never decides, and it never writes to the history.
//
// Holds are recorded once a minute, so the current decision is often newer than the last record. Package app/plan says
// what another configuration would decide.
package explain
