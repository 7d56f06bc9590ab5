package queue

import "github.com/muster-scale/muster/queue/internal/rules"

// MaxScopes is how many regions and accounts may hold queues, besides the default.
const MaxScopes = rules.MaxScopes

// Scoped returns the name under which a [Service] keeps the queue called name in a
// region and an account other than the default ones. Both scopes given, they must
// pass [ValidScope].
func Scoped(region, account, name string) string { return rules.Scoped(region, account, name) }

// CutScope returns the parts of a name made by [Scoped]; for the bare name of a
// queue in the default region and account, region and account are empty.
func CutScope(scoped string) (region, account, name string) { return rules.CutScope(scoped) }

// ValidScope says whether region and account can name a scope: lower-case letters,
// digits and hyphens, at most 32 of them, and 12 digits.
func ValidScope(region, account string) bool { return rules.ValidScope(region, account) }
