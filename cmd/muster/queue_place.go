package main

import (
	"cmp"
	"context"
	"fmt"
	"net/url"
	"os"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	awssqs "github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/spf13/cobra"

	"github.com/muster-scale/muster/internal/awsapi"
	"github.com/muster-scale/muster/queue"
	"github.com/muster-scale/muster/sqsapi"
)

// The region and the account of the embedded queues that the configuration names.
const (
	defaultRegion  = "us-east-1"
	defaultAccount = "000000000000"
)

// queuePlace is where the queues of a command are. Each region and account of an embedded queue has queues of its own.
type queuePlace struct {
	// endpoint is that of the configuration where it is empty; region is that of the environment, account the default one.
	endpoint, region, account string
}

// flags gives a command the flags for where.
func (p *queuePlace) flags(cmd *cobra.Command) {
	f := cmd.Flags()
	addEndpoint(cmd, &p.endpoint)
	f.StringVar(&p.region, "region", "",
		"the region of the queues (default: that of the environment, "+defaultRegion+" for an embedded queue)")
	f.StringVar(&p.account, "account", "",
		"the account of the queues, for an embedded queue (default: "+defaultAccount+")")
}

// check says what is wrong with the flags.
func (p *queuePlace) check() error {
	if p.region != "" && !queue.ValidScope(p.region, defaultAccount) {
		return usage(fmt.Errorf("--region: found %.50q, allowed are up to 32 lower-case letters, digits and hyphens, "+
			"as in eu-west-1", p.region))
	}
	if p.account != "" && !queue.ValidScope(defaultRegion, p.account) {
		return usage(fmt.Errorf("--account: found %.50q, allowed are 12 digits", p.account))
	}
	if p.account != "" && p.endpoint != "" && !awsapi.Local(p.endpoint) {
		return usage(fmt.Errorf("--account: found the endpoint %s, allowed is one of this machine; "+
			"elsewhere the account is that of the credentials", p.endpoint))
	}
	return nil
}

// name returns the bare name of the queue that a person named: by its name, its URL, or as REGION:ACCOUNT:NAME. What it
// says of the place counts where no flag does, and may not differ from a flag.
func (p *queuePlace) name(named string) (string, error) {
	name, err := queueName(named, &p.endpoint)
	if err != nil {
		return "", err
	}
	region, account, bare := queue.CutScope(name)
	if isURL(named) {
		region, account, bare = "", accountIn(named), name
	}
	for _, part := range []struct {
		flag, said string
		into       *string
	}{{"--region", region, &p.region}, {"--account", account, &p.account}} {
		if part.said == "" {
			continue
		}
		if *part.into != "" && *part.into != part.said {
			return "", usage(fmt.Errorf("%s: found %s, and %s in %.200q; name one of them",
				part.flag, *part.into, part.said, named))
		}
		*part.into = part.said
	}
	return bare, p.check()
}

// accountIn is the account in the URL of a queue on this machine; empty elsewhere, where it need not be said.
func accountIn(queueURL string) string {
	u, err := url.Parse(queueURL)
	if err != nil || !awsapi.Local(queueURL) {
		return ""
	}
	account, _, _ := strings.Cut(strings.TrimPrefix(u.Path, "/"), "/")
	if !queue.ValidScope(defaultRegion, account) {
		return ""
	}
	return account
}

// key is the name by which the embedded queue keeps the queue of a bare name.
func (p *queuePlace) key(name string) string {
	region := cmp.Or(p.region, defaultRegion)
	if region == sqsapi.LocalRegion {
		region = defaultRegion
	}
	account := cmp.Or(p.account, defaultAccount)
	if name == "" || region == defaultRegion && account == defaultAccount {
		return name
	}
	return queue.Scoped(region, account, name)
}

// client returns a client for the queues of the place, and takes from it what no flag said.
func (g *global) client(ctx context.Context, p *queuePlace) (*awssqs.Client, error) {
	if err := p.check(); err != nil {
		return nil, err
	}
	target := p.endpoint
	if target == "" {
		c, err := g.place()
		if err != nil {
			return nil, err
		}
		target = "http://" + c.Listen.Queue
	}
	cfg, err := g.sqsConfig(ctx, target)
	if err != nil {
		return nil, err
	}
	cfg.Region = cmp.Or(p.region, cfg.Region)
	p.region = cfg.Region
	if p.account != "" {
		base := cmp.Or(aws.ToString(cfg.BaseEndpoint), os.Getenv("AWS_ENDPOINT_URL_SQS"), target)
		cfg.BaseEndpoint = aws.String(strings.TrimSuffix(base, "/") + "/" + p.account)
	}
	return awssqs.NewFromConfig(cfg), nil
}
