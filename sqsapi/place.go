package sqsapi

import (
	"net/http"
	"strings"

	"github.com/muster-scale/muster/queue"
)

// place is a region and an account. Queues of one place are not seen from
// another. The place of a request is the region that it is signed for and the
// account in its path, or else the default account; a queue URL that names an
// account goes before.
type place struct{ region, account string }

// LocalRegion stands for the default region. A client that goes to the real
// service in every region it knows, whatever endpoint it is given, does not know
// this one: the AWS command line of version 1 is such a client.
const LocalRegion = "local"

// placeOf is the place that a request is about. A nil claim is of a request whose
// signature is not checked; what it says of the region counts all the same.
func (a *api) placeOf(r *http.Request, c *claim) place {
	at := place{a.Region, a.Account}
	var key string
	if c != nil {
		at.region = c.region
	} else if parts := strings.Split(credentialOf(r), "/"); len(parts) == 5 {
		key, at.region = parts[0], parts[2]
	}
	if account, _, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/"); isAccount(account) {
		at.account = account
	} else if isAccount(key) {
		at.account = key // by which other stand-ins for AWS tell accounts apart
	}
	if at.region == LocalRegion || !queue.ValidScope(at.region, at.account) {
		at.region = a.Region
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

func isAccount(s string) bool {
	return len(s) == accountDigits && strings.Trim(s, "0123456789") == ""
}

// key is the name under which the service keeps the queue of a place.
func (a *api) key(at place, name string) string {
	if at.region == a.Region && at.account == a.Account {
		return name
	}
	return queue.Scoped(at.region, at.account, name)
}

// placed is the place and the bare name of the queue that the service keeps under key.
func (a *api) placed(key string) (place, string) {
	region, account, name := queue.CutScope(key)
	if region == "" {
		return place{a.Region, a.Account}, name
	}
	return place{region, account}, name
}

// queueName is the key of the queue that a URL names. Its host does not matter. A
// URL without an account, as a bare name is one, means the account of the request.
func (c *call) queueName(url *string) (string, error) {
	if url == nil || *url == "" {
		return "", missing("QueueUrl")
	}
	rest := strings.TrimSuffix(*url, "/")
	cut := strings.LastIndexByte(rest, '/')
	name, at := rest[cut+1:], c.at
	if cut > 0 {
		rest = rest[:cut]
		if account := rest[strings.LastIndexByte(rest, '/')+1:]; isAccount(account) {
			at.account = account
		}
	}
	return c.named(at, name)
}

// named is the key of a queue. A name with a colon would reach into another place.
func (c *call) named(at place, name string) (string, error) {
	if strings.Contains(name, ":") {
		return "", queue.ErrQueueNotFound
	}
	return c.key(at, name), nil
}

func (c *call) url(key string) string {
	at, name := c.placed(key)
	return c.base + "/" + at.account + "/" + name
}

func (c *call) urls(keys []string) []string {
	out := make([]string, len(keys))
	for i, key := range keys {
		out[i] = c.url(key)
	}
	return out
}

func (a *api) arn(key string) string {
	at, name := a.placed(key)
	return "arn:aws:sqs:" + at.region + ":" + at.account + ":" + name
}

// hint logs, for a while, that a queue was asked for in a place that lacks it and
// the default one has it: most often the caller's region is set to another one.
func (a *api) hint(key string) {
	at, name := a.placed(key)
	if key == name || name == "" {
		return
	}
	if _, err := a.Queues.Counts(name); err != nil || a.hints.Add(1) > maxHints {
		return
	}
	a.Logger.Warn(
		"the queue is not in the region and account of the caller, but in the default ones: set AWS_REGION "+
			"of the caller to the default region, or create the queue in its own",
		"queue", name, "region", at.region, "account", at.account, "default_region", a.Region, "default_account", a.Account)
}

// maxHints bounds the log lines of hint.
const maxHints = 20
