package action

import (
	"strings"

	"github.com/muster-scale/muster/queue"
	"github.com/muster-scale/muster/sqsapi/internal/protocol"
)

// Place is a region and an account. Queues of one place are invisible from another. The place of a
// request is the region for which it is signed, and the account in its path or else the default one. An
// account in a queue URL takes precedence.
type Place struct {
	// Region is the region of the queue, as in its ARN.
	Region string
	// Account is the owner of the queue, 12 digits.
	Account string
}

// IsAccount says whether s has the form of an account id.
func IsAccount(s string) bool {
	return len(s) == accountDigits && strings.Trim(s, "0123456789") == ""
}

// key returns the name under which package queue keeps the queue of a place.
func (s *Service) key(at Place, name string) string {
	if at.Region == s.Region && at.Account == s.Account {
		return name
	}
	return queue.Scoped(at.Region, at.Account, name)
}

// Placed is the inverse of key: it returns place and bare name.
func (s *Service) Placed(key string) (Place, string) {
	region, account, name := queue.CutScope(key)
	if region == "" {
		return Place{s.Region, s.Account}, name
	}
	return Place{region, account}, name
}

// queueName returns the key of the queue that a URL names. The host does not matter, since a queue may
// be reached under several. A URL without an account, such as a bare name, means the account of the
// request.
func (c *Call) queueName(url *string) (string, error) {
	if url == nil || *url == "" {
		return "", protocol.Missing("QueueUrl")
	}
	rest := strings.TrimSuffix(*url, "/")
	cut := strings.LastIndexByte(rest, '/')
	name, at := rest[cut+1:], c.At
	if cut > 0 {
		rest = rest[:cut]
		if account := rest[strings.LastIndexByte(rest, '/')+1:]; IsAccount(account) {
			at.Account = account
		}
	}
	return c.named(at, name)
}

// named returns the key of a queue by its name. It refuses a colon, with which a name would reach into
// another place.
func (c *Call) named(at Place, name string) (string, error) {
	if strings.Contains(name, ":") {
		return "", queue.ErrQueueNotFound
	}
	return c.key(at, name), nil
}

// url returns the URL of a queue, under the host that the caller used.
func (c *Call) url(key string) string {
	at, name := c.Placed(key)
	return c.Base + "/" + at.Account + "/" + name
}

// urls returns the URLs of queues.
func (c *Call) urls(keys []string) []string {
	out := make([]string, len(keys))
	for i, key := range keys {
		out[i] = c.url(key)
	}
	return out
}

// arn returns the ARN of a queue.
func (s *Service) arn(key string) string {
	at, name := s.Placed(key)
	return "arn:aws:sqs:" + at.Region + ":" + at.Account + ":" + name
}
