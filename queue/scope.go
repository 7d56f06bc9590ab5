package queue

import "github.com/muster-scale/muster/queue/internal/rules"

// MaxScopes is the largest number of scopes, pairs of region and account, that may hold queues besides
// the default one.
const MaxScopes = rules.MaxScopes

// Scoped returns the name under which a [Service] keeps the queue called name in a region and account
// other than the default ones. region and account must pass [ValidScope].
func Scoped(region, account, name string) string { return rules.Scoped(region, account, name) }

// CutScope splits a name made by [Scoped]. For a queue of the default scope, region and account are
// empty.
func CutScope(scoped string) (region, account, name string) { return rules.CutScope(scoped) }

// ValidScope says whether region and account can name a scope. A region has 1 to 32 lower-case letters,
// digits and hyphens. An account has 12 digits.
func ValidScope(region, account string) bool { return rules.ValidScope(region, account) }
