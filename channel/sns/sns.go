// Package sns publishes notices to a topic of Amazon SNS, for mails, messages and functions that subscribe to it.
//
// The message is the text of the notice, for people. Its attributes event, kind and fleet let subscriptions filter;
// its subject is the sentence. A FIFO topic gets the fleet as the message group and the notice's id for
// deduplication.
//
// The call is signed with the credentials of the AWS tools (package internal/awsapi) and needs the permission
// sns:Publish. AWS_ENDPOINT_URL_SNS names another endpoint.
package sns

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"strings"
	"time"

	"github.com/muster-scale/muster/config/keys"
	"github.com/muster-scale/muster/incident"
	"github.com/muster-scale/muster/internal/awsapi"
	"github.com/muster-scale/muster/kind"
	"github.com/muster-scale/muster/notice"
)

// Config is a topic as the configuration states it.
type Config struct {
	// Topic is its ARN.
	Topic string
}

// arn matches the ARN of a topic; the groups are its region and its name.
var arn = regexp.MustCompile(`^arn:aws[a-z-]*:sns:([a-z0-9-]{1,40}):[0-9]{12}:([A-Za-z0-9_-]{1,251}(?:\.fifo)?)$`)

// version is that of the API.
const version = "2010-03-31"

// maxSubject bounds the subject of a message, in characters.
const maxSubject = 99

// Kind is the row of the kind.
func Kind() kind.ChannelRow {
	return kind.ChannelRow{Key: "sns", What: "publish each notice to a topic of Amazon SNS",
		New: func() kind.Channel { return &Config{} }}
}

// Keys implements [channels.Destination].
func (c *Config) Keys() []keys.Key {
	return []keys.Key{keys.Text("topic", &c.Topic, "the ARN of the topic").Required().
		Must("the ARN of a topic, as in arn:aws:sns:eu-west-1:123456789012:alarms", arn.MatchString)}
}

// Verify implements [channels.Destination]. The declaration of the topic has checked everything.
func (*Config) Verify(*keys.Source, string) {}

// Permissions implements [kind.PermittedChannel]. Only muster up sends notices by itself.
func (c *Config) Permissions() []kind.Permission {
	return kind.AllowWrites([]kind.Mode{kind.ModeUp}, []string{c.Topic}, "sns:Publish")
}

// Open implements [kind.Channel].
func (c *Config) Open(h *kind.Host, _ string) notice.Channel { return topic{c.Topic, h} }

// topic publishes to one topic. It implements [notice.Channel].
type topic struct {
	arn  string
	host *kind.Host
}

// Send implements [notice.Channel]. The answer is the id of the message.
func (t topic) Send(ctx context.Context, n incident.Notice) (answer string, err error) {
	account, err := t.host.Account(ctx)
	if err != nil {
		return "", err
	}
	region := arn.FindStringSubmatch(t.arn)[1]
	body, err := account.Query(ctx, time.Now(), "sns", region, t.form(n))
	if err != nil {
		err = fmt.Errorf("publish to %s: %w", t.arn, err)
		if refused, ok := errors.AsType[*awsapi.QueryError](err); ok && refused.Final() {
			err = fmt.Errorf("%w: %w", err, notice.ErrRefused)
		}
		return "", err
	}
	_, rest, _ := strings.Cut(string(body), "<MessageId>")
	id, _, _ := strings.Cut(rest, "</MessageId>")
	return "published as message " + incident.Line(id, 100), nil
}

// form returns the parameters of the action Publish.
func (t topic) form(n incident.Notice) url.Values {
	i := n.Incident
	form := url.Values{"Action": {"Publish"}, "Version": {version}, "TopicArn": {t.arn}, "Message": {n.Text},
		"Subject": {subject(n)}}
	attributes := [][2]string{{"event", string(n.Event)}, {"kind", string(i.Kind)}, {"fleet", i.Fleet}}
	for k, a := range attributes {
		if a[1] == "" {
			continue // SNS refuses an empty value; only the last one can be empty
		}
		entry := fmt.Sprintf("MessageAttributes.entry.%d.", k+1)
		form.Set(entry+"Name", a[0])
		form.Set(entry+"Value.DataType", "String")
		form.Set(entry+"Value.StringValue", a[1])
	}
	if strings.HasSuffix(t.arn, ".fifo") {
		id := sha256.Sum256([]byte(n.ID))
		form.Set("MessageGroupId", cmp.Or(i.Fleet, "muster"))
		form.Set("MessageDeduplicationId", fmt.Sprintf("%x", id))
	}
	return form
}

// subject returns the subject of a message: SNS allows less than 100 ASCII characters on one line.
func subject(n incident.Notice) string {
	text := strings.Map(func(c rune) rune {
		if c < ' ' || c > '~' {
			return '?'
		}
		return c
	}, "Muster "+string(n.Event)+": "+n.Incident.Sentence)
	return incident.Line(text, maxSubject)
}
