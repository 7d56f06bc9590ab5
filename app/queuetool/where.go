package queuetool

import (
	"cmp"
	"context"
	"net/url"
	"os"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	awssqs "github.com/aws/aws-sdk-go-v2/service/sqs"

	"github.com/muster-scale/muster/app/client"
	"github.com/muster-scale/muster/internal/awsapi"
	"github.com/muster-scale/muster/internal/misuse"
	"github.com/muster-scale/muster/queue"
	"github.com/muster-scale/muster/sqsapi"
)

// DefaultRegion and DefaultAccount are the scope of the embedded queues in the configuration.
const (
	DefaultRegion  = "us-east-1"
	DefaultAccount = "000000000000"
)

// Where says where the queues of a command are. An embedded queue has separate queues for each region and account.
// Commands set it from --endpoint, --region and --account; Name adds what a URL or a scoped name says.
type Where struct {
	// Endpoint is the URL of an SQS endpoint; empty for that of the configuration. An empty Region is that of the
	// environment, an empty Account is DefaultAccount.
	Endpoint, Region, Account string
}

// Check returns an error when the region, the account or their combination is invalid. It makes no call.
func (p *Where) Check() error {
	if p.Region != "" && !queue.ValidScope(p.Region, DefaultAccount) {
		return misuse.Setting("region", "found %.50q, allowed are up to 32 lower-case letters, digits and hyphens, "+
			"as in eu-west-1", p.Region)
	}
	if p.Account != "" && !queue.ValidScope(DefaultRegion, p.Account) {
		return misuse.Setting("account", "found %.50q, allowed are 12 digits", p.Account)
	}
	if p.Account != "" && p.Endpoint != "" && !awsapi.Local(p.Endpoint) {
		return misuse.Setting("account", "found the endpoint %s, allowed is one of this machine; "+
			"elsewhere the account is that of the credentials", p.Endpoint)
	}
	return nil
}

// Name returns the bare name of a queue given by its name, its URL, or as REGION:ACCOUNT:NAME. It fills in the parts of
// p that are empty, and returns an error for a part that differs.
func (p *Where) Name(named string) (string, error) {
	name, endpoint, err := client.QueueName(named)
	if err != nil {
		return "", err
	}
	p.Endpoint = cmp.Or(p.Endpoint, endpoint)
	region, account, bare := queue.CutScope(name)
	if client.IsURL(named) {
		region, account, bare = "", accountIn(named), name
	}
	// A part may be given twice, by a flag and by the name, if both say the same.
	for _, part := range []struct {
		setting, said string
		into          *string
	}{{"region", region, &p.Region}, {"account", account, &p.Account}} {
		if part.said == "" {
			continue
		}
		if *part.into != "" && *part.into != part.said {
			return "", misuse.Setting(part.setting, "found %s, and %s in %.200q; name one of them",
				*part.into, part.said, named)
		}
		*part.into = part.said
	}
	return bare, p.Check()
}

// accountIn returns the account in the URL of a queue on this machine. Elsewhere it is empty: the credentials decide.
func accountIn(queueURL string) string {
	u, err := url.Parse(queueURL)
	if err != nil || !awsapi.Local(queueURL) {
		return ""
	}
	account, _, _ := strings.Cut(strings.TrimPrefix(u.Path, "/"), "/")
	if !queue.ValidScope(DefaultRegion, account) {
		return ""
	}
	return account
}

// Key returns the scoped name of a queue, as the embedded queue stores it. The default scope has bare names, as in the
// configuration.
func (p *Where) Key(name string) string {
	region := cmp.Or(p.Region, DefaultRegion)
	// The endpoint counts this region as the default one: see [client.Variables].
	if region == sqsapi.LocalRegion {
		region = DefaultRegion
	}
	account := cmp.Or(p.Account, DefaultAccount)
	if name == "" || region == DefaultRegion && account == DefaultAccount {
		return name
	}
	return queue.Scoped(region, account, name)
}

// Client returns a client for these queues, and sets p.Region to the client's region. It calls place only if p has no
// endpoint.
func (p *Where) Client(ctx context.Context, place client.Place) (*awssqs.Client, error) {
	if err := p.Check(); err != nil {
		return nil, err
	}
	// The keys follow from the target: see [client.UseLocalKeys].
	target := p.Endpoint
	if target == "" {
		c, err := place()
		if err != nil {
			return nil, err
		}
		target = "http://" + c.Listen.Queue
	}
	cfg, err := client.SQSConfig(ctx, place, target)
	if err != nil {
		return nil, err
	}
	cfg.Region = cmp.Or(p.Region, cfg.Region)
	p.Region = cfg.Region
	if p.Account != "" {
		// An embedded queue takes the account from the path of the URL.
		base := cmp.Or(aws.ToString(cfg.BaseEndpoint), os.Getenv("AWS_ENDPOINT_URL_SQS"), target)
		cfg.BaseEndpoint = aws.String(strings.TrimSuffix(base, "/") + "/" + p.Account)
	}
	return awssqs.NewFromConfig(cfg), nil
}
