package action

import (
	"strings"

	"github.com/muster-scale/muster/queue"
	"github.com/muster-scale/muster/sqsapi/internal/protocol"
)

// Place is a region and an account. Queues of one place are not seen from
// another. The place of a request is the region that it is signed for and the
// account in its path, or else the default account; a queue URL that names an
// account goes before.
type Place struct {
	// Region is that of the queue, as in its ARN.
	Region string
	// Account is its owner's, of 12 digits.
	Account string
}

// IsAccount says whether s may be the id of an account.
func IsAccount(s string) bool {
	return len(s) == accountDigits && strings.Trim(s, "0123456789") == ""
}

// key is the name under which the service keeps the queue of a place.
func (s *Service) key(at Place, name string) string {
	if at.Region == s.Region && at.Account == s.Account {
		return name
	}
	return queue.Scoped(at.Region, at.Account, name)
}

// Placed returns the place and the bare name of the queue that the service keeps under key.
func (s *Service) Placed(key string) (Place, string) {
	region, account, name := queue.CutScope(key)
	if region == "" {
		return Place{s.Region, s.Account}, name
	}
	return Place{region, account}, name
}

// queueName is the key of the queue that a URL names. Its host does not matter. A
// URL without an account, as a bare name is one, means the account of the request.
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

// named is the key of a queue. A name with a colon would reach into another place.
func (c *Call) named(at Place, name string) (string, error) {
	if strings.Contains(name, ":") {
		return "", queue.ErrQueueNotFound
	}
	return c.key(at, name), nil
}

func (c *Call) url(key string) string {
	at, name := c.Placed(key)
	return c.Base + "/" + at.Account + "/" + name
}

func (c *Call) urls(keys []string) []string {
	out := make([]string, len(keys))
	for i, key := range keys {
		out[i] = c.url(key)
	}
	return out
}

func (s *Service) arn(key string) string {
	at, name := s.Placed(key)
	return "arn:aws:sqs:" + at.Region + ":" + at.Account + ":" + name
}
