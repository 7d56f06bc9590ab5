package rules

import (
	"strings"

	"github.com/muster-scale/muster/queue/internal/machine"
)

// A queue of the default region and account is kept under its bare name. That of
// another region or account is kept under region, account and name with colons
// between, as at the end of an ARN: no name has a colon in it.

// MaxScopes is how many regions and accounts may hold queues, besides the default.
const MaxScopes = 100

const (
	scopeEnd   = ":"
	maxRegion  = 32
	accountLen = 12
)

// Scoped returns the name under which a [Service] keeps the queue called name in a
// region and an account other than the default ones. Both scopes given, they must
// pass [ValidScope].
func Scoped(region, account, name string) string {
	return region + scopeEnd + account + scopeEnd + name
}

// CutScope returns the parts of a name made by [Scoped]; for the bare name of a
// queue in the default region and account, region and account are empty.
func CutScope(scoped string) (region, account, name string) {
	scope := machine.ScopeOf(scoped)
	if scope == "" {
		return "", "", scoped
	}
	region, account, _ = strings.Cut(strings.TrimSuffix(scope, scopeEnd), scopeEnd)
	return region, account, scoped[len(scope):]
}

// ValidScope says whether region and account can name a scope: lower-case letters,
// digits and hyphens, at most 32 of them, and 12 digits.
func ValidScope(region, account string) bool {
	if region == "" || len(region) > maxRegion || strings.ToLower(region) != region || !consists(region, "-") {
		return false
	}
	return len(account) == accountLen && strings.Trim(account, "0123456789") == ""
}
