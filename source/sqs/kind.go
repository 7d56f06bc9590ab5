package sqs

import (
	"context"
	"net/url"
	"strings"

	"github.com/muster-scale/muster/config"
	"github.com/muster-scale/muster/config/keys"
	"github.com/muster-scale/muster/internal/awsapi"
	"github.com/muster-scale/muster/internal/awsmetrics"
	"github.com/muster-scale/muster/kind"
)

// Kind is the row of the kind: a queue that is identified by its URL.
func Kind() kind.QueueRow {
	return kind.QueueRow{
		QueueKind: config.QueueKind{
			Name: "sqs", Plural: "queues on SQS",
			Takes: func(text string) bool { return strings.Contains(text, ":") },
			Refer: refer,
		},
		Open: open, Elsewhere: true, World: kind.World{Lag: settles, CountsOnly: true, Random: true},
		Adapters:    []kind.Adapter{kind.AdapterFor[*Source]("queues of Amazon SQS")},
		Permissions: permissions,
	}
}

// refer parses the URL of a queue. A queue on this machine may use http, and reading it costs nothing.
func refer(text string) (q config.QueueRef, found, allowed string) {
	q = config.QueueRef{URL: text}
	u, err := url.Parse(text)
	if err != nil || u.Host == "" || u.User != nil || u.RawQuery != "" || u.ForceQuery || u.Fragment != "" {
		return q, keys.Quote(text), "a queue's name or URL, as in " +
			"https://sqs.eu-west-1.amazonaws.com/123456789012/thumbnails"
	}
	here := config.IsLoopback(u.Hostname())
	if u.Scheme != "https" && !(u.Scheme == "http" && here) {
		return q, keys.Quote(text), "https, or http to this machine"
	}
	q.Name, q.Region, q.Remote = u.Path[strings.LastIndexByte(u.Path, '/')+1:], awsapi.QueueRegion(text), !here
	found, allowed = config.WrongQueueName(q.Name)
	return q, found, allowed
}

// permissions implements the field of [kind.QueueRow]. A queue of this machine is not on AWS.
func permissions(at kind.Place, aws config.AWS, f config.Fleet, i int) []kind.Permission {
	q := f.Queues[i]
	if !q.Remote {
		return nil
	}
	// The account of the queue may be another than that of the fleet. Only names of Amazon's own hosts hold it.
	if path := strings.Split(q.URL, "/"); q.Region != "" && len(path) > 2 {
		at.Account = path[len(path)-2]
	}
	on := []string{at.ARN("sqs", q.Region, q.Name)}
	all := kind.Allow(kind.Reading(), on, "sqs:GetQueueAttributes")
	all = append(all, kind.AllowWrites([]kind.Mode{kind.ModeWork}, on, "sqs:ReceiveMessage", "sqs:DeleteMessage",
		"sqs:ChangeMessageVisibility")...)
	if aws.QueueMetrics {
		all = append(all, kind.Allow(kind.Reading(), nil, "cloudwatch:GetMetricData")...)
	}
	return all
}

func open(ctx context.Context, h *kind.Host, f config.Fleet, i int) (kind.Queue, error) {
	account, err := h.Account(ctx)
	if err != nil {
		return kind.Queue{}, err
	}
	o := Options{Account: account}
	if h.AWS().QueueMetrics {
		o.Metrics = kind.Shared(h, func() *awsmetrics.Reader { return awsmetrics.NewReader(account) })
	}
	queues := kind.Shared(h, func() *Queues { return NewQueues(o) })
	source, err := queues.Queue(f.Queues[i].URL, f.Poll)
	if err != nil {
		return kind.Queue{}, err
	}
	return kind.Queue{Source: source, Wakes: source, Expecter: source}, nil
}
