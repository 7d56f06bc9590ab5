// Package account is one account of AWS in one region, in virtual time: what all modelled services share and no
// single one owns.
//
// An [Account] has
//
//   - time: the present instant, and what is scheduled for later ([Account.At], [Account.After], [Account.Advance]);
//   - chance from a seed, a stream for each kind of event ([Account.Draw], [Account.Hit]);
//   - names that are never given twice ([Account.UUID], [Account.ARN]);
//   - events that EventBridge would receive ([Event], [Account.TakeEvents]);
//   - capacity that may be short ([Pool]);
//   - what happens to a call before its action sees it ([Account.Admit]: injected troubles, token buckets).
//
// A [Fault] is an error as an API answers it; every action of every service returns one. The rest of the package is
// small: pages of lists, client tokens, absent members.
//
// The package knows no service: a service keeps its own state and asks the account for time and chance. It is pure,
// and the same identity and calls give the same bytes. Whatever a service does later it must schedule here, never in
// a goroutine or with a timer, or a world would differ from run to run.
package account
