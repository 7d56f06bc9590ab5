package sqsapi

import (
	"net/http"
	"strings"

	"github.com/muster-scale/muster/queue"
	"github.com/muster-scale/muster/sqsapi/internal/action"
	"github.com/muster-scale/muster/sqsapi/internal/sigv4"
)

// LocalRegion is another name of the default region. Some clients ignore the endpoint in every region
// they know and call AWS there; version 1 of the AWS command line does. They do not know this region.
const LocalRegion = "local"

// placeOf returns the region and account that a request is about. A nil claim means that signatures are
// not checked; the region in the credential counts all the same.
func (a *api) placeOf(r *http.Request, c *sigv4.Claim) action.Place {
	at := action.Place{Region: a.Region, Account: a.Account}
	var key string
	if c != nil {
		at.Region = c.Region
	} else if parts := strings.Split(credentialOf(r), "/"); len(parts) == 5 {
		key, at.Region = parts[0], parts[2]
	}
	if account, _, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/"); action.IsAccount(account) {
		at.Account = account
	} else if action.IsAccount(key) {
		at.Account = key // other emulators of AWS tell accounts apart by an access key of 12 digits
	}
	if at.Region == LocalRegion || !queue.ValidScope(at.Region, at.Account) {
		at.Region = a.Region
	}
	return at
}

// credentialOf returns the credential of a request, from its header or its URL, without checking it.
func credentialOf(r *http.Request) string {
	_, after, found := strings.Cut(r.Header.Get("Authorization"), "Credential=")
	if !found {
		if r.URL.RawQuery == "" {
			return ""
		}
		return r.URL.Query().Get("X-Amz-Credential")
	}
	credential, _, _ := strings.Cut(after, ",")
	return strings.TrimSpace(credential)
}

// hint logs that a queue is missing in the place of a request but exists in the default place. Most
// often the caller's region is set to another one. It logs at most maxHints times.
func (a *api) hint(key string) {
	at, name := a.Placed(key)
	if key == name || name == "" {
		return
	}
	if _, err := a.Queues.Counts(name); err != nil || a.hints.Add(1) > maxHints {
		return
	}
	a.Logger.Warn(
		"the queue is not in the region and account of the caller, but in the default ones: set AWS_REGION "+
			"of the caller to the default region, or create the queue in its own",
		"queue", name, "region", at.Region, "account", at.Account, "default_region", a.Region, "default_account",
		a.Account)
}

// maxHints bounds the log lines of hint.
const maxHints = 20
