// Package account is one account of AWS in one region, in virtual time, as far as all services of the model share it.
//
// An [Account] has the present instant and what is due later ([Account.At], [Account.Advance]), chance from a seed
// ([Account.Draw]: each stream of its own), names that are never given twice ([Account.UUID], [Account.ARN]), what
// EventBridge would be told ([Event]), short capacity ([Pool]), and what happens to a call before its action sees it
// ([Account.Admit]: injected troubles, token buckets). A [Fault] is an error as an API answers it.
//
// It knows no service. It is pure: the same identity and calls give the same bytes.
package account
