package sqsapi

import (
	"net/http"
	"strings"

	"github.com/muster-scale/muster/queue"
	"github.com/muster-scale/muster/sqsapi/internal/action"
	"github.com/muster-scale/muster/sqsapi/internal/sigv4"
)

// LocalRegion stands for the default region. A client that goes to the real
// service in every region it knows, whatever endpoint it is given, does not know
// this one: the AWS command line of version 1 is such a client.
const LocalRegion = "local"

// placeOf is the place that a request is about. A nil claim is of a request whose
// signature is not checked; what it says of the region counts all the same.
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
		at.Account = key // by which other stand-ins for AWS tell accounts apart
	}
	if at.Region == LocalRegion || !queue.ValidScope(at.Region, at.Account) {
		at.Region = a.Region
	}
	return at
}

// credentialOf is the credential that a request states, checked or not.
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

// hint logs, for a while, that a queue was asked for in a place that lacks it and
// the default one has it: most often the caller's region is set to another one.
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
