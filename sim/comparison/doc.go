// Package comparison plays several policies on several traces, as muster compare does ([Comparison.Play]): with the
// settings of other autoscalers tuned in hindsight, with the curves of runs recorded, and with what policies of ours
// are told ([Informed]). It shows how far it is. One event at a time is played by package sim/contest; results are
// printed by package sim/tables and drawn by package sim/report.
package comparison
