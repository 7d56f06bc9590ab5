package rules

import (
	"strings"

	"github.com/muster-scale/muster/queue/internal/machine"
)

// A queue of the default region and account is kept under its bare name, any other under
// region:account:name, as at the end of an ARN. Names contain no colon, so the two cannot be confused.

// MaxScopes is the largest number of scopes, pairs of region and account, that may hold queues besides
// the default one.
const MaxScopes = 100

// The longest region and the length of an account, in bytes.
const (
	scopeEnd   = ":"
	maxRegion  = 32
	accountLen = 12
)

// Scoped returns the name under which a queue in another region and account than the default ones is
// kept. region and account must pass [ValidScope].
func Scoped(region, account, name string) string {
	return region + scopeEnd + account + scopeEnd + name
}

// CutScope splits a name made by [Scoped]. For a queue of the default scope, region and account are
// empty.
func CutScope(scoped string) (region, account, name string) {
	scope := machine.ScopeOf(scoped)
	if scope == "" {
		return "", "", scoped
	}
	region, account, _ = strings.Cut(strings.TrimSuffix(scope, scopeEnd), scopeEnd)
	return region, account, scoped[len(scope):]
}

// ValidScope says whether region and account can name a scope. A region has 1 to 32 lower-case letters,
// digits and hyphens. An account has 12 digits.
func ValidScope(region, account string) bool {
	if region == "" || len(region) > maxRegion || strings.ToLower(region) != region || !consists(region, "-") {
		return false
	}
	return len(account) == accountLen && strings.Trim(account, "0123456789") == ""
}
