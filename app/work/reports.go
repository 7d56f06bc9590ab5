package work

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awscloudwatch "github.com/aws/aws-sdk-go-v2/service/cloudwatch"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/muster-scale/muster/internal/awsapi"
	"github.com/muster-scale/muster/worker"
	"github.com/muster-scale/muster/worker/cloudwatch"
	"github.com/muster-scale/muster/worker/dynamoreport"
)

// entryEvery is how often a worker writes its report to a table, in addition to every change.
const entryEvery = 10 * time.Second

// Reporting says where a worker sends its reports. A report to a controller over HTTP is answered and may stop the
// worker; the other kinds only take reports.
type Reporting struct {
	// To holds http, cloudwatch[:NAMESPACE], emf[:NAMESPACE] or dynamodb:TABLE, each at most once. Every is the period
	// of the metrics: 5s, 10s, 30s or 1m.
	To    []string
	Every time.Duration
	// configure reads the AWS configuration, when it is needed; nil uses the default one.
	configure func(context.Context) (aws.Config, error)
	out       io.Writer
}

// apply adds to o the destinations of reports, except those to a controller.
func (r *Reporting) apply(ctx context.Context, o *worker.Options, api string) error {
	if !slices.Contains(cloudwatch.Periods(), r.Every) {
		return fmt.Errorf("--report-every: found %s, allowed is 5s, 10s, 30s or 1m", r.Every)
	}
	var cfg *aws.Config
	for i, to := range r.To {
		if slices.Contains(r.To[:i], to) {
			return fmt.Errorf("--report: found %q twice, allowed is once", to)
		}
		kind, name, _ := strings.Cut(to, ":")
		if kind == "cloudwatch" || kind == "dynamodb" {
			if err := r.load(ctx, &cfg); err != nil {
				return err
			}
		}
		out, err := r.destination(kind, name, *o, api, cfg)
		if err != nil {
			return fmt.Errorf("--report %s: %w", to, err)
		}
		if out.Sink != nil {
			o.Destinations = append(o.Destinations, out)
		}
	}
	return nil
}

// destination returns the destination of one kind. http has no sink, because its controller answers.
func (r *Reporting) destination(kind, name string, o worker.Options, api string, cfg *aws.Config) (worker.Destination,
	error) {
	metrics := cloudwatch.Options{Namespace: name, Fleet: o.Fleet}
	switch {
	case kind == "http" && name != "":
		return worker.Destination{}, errors.New("the controller's URL is given by --api")
	case kind == "http" && api == "":
		return worker.Destination{}, errors.New("found no controller; give its URL by --api")
	// The reporter of a controller is made in [Run].
	case kind == "http":
		return worker.Destination{}, nil
	case kind == "cloudwatch":
		sink, err := cloudwatch.New(awscloudwatch.NewFromConfig(*cfg), metrics)
		return worker.Destination{Sink: sink, Name: "CloudWatch", Every: r.Every}, err
	case kind == "emf":
		sink, err := cloudwatch.NewLines(r.out, metrics)
		return worker.Destination{Sink: sink, Name: "standard output", Every: r.Every}, err
	// The controller finds the reports of a fleet by that key.
	case kind == "dynamodb" && o.Fleet == "":
		return worker.Destination{}, errors.New("found no fleet, which is part of the table's key; give it by --fleet")
	case kind == "dynamodb":
		sink, err := dynamoreport.New(dynamodb.NewFromConfig(*cfg), name)
		return worker.Destination{Sink: sink, Name: "the table " + name, Every: entryEvery, Changes: true}, err
	}
	return worker.Destination{}, errors.New("allowed is http, cloudwatch[:NAMESPACE], emf[:NAMESPACE] or " +
		"dynamodb:TABLE")
}

// load reads the AWS configuration once, for all kinds that need it, and requires a region.
func (r *Reporting) load(ctx context.Context, into **aws.Config) error {
	if *into != nil {
		return nil
	}
	cfg, err := r.configuration(ctx)
	if err != nil {
		return err
	}
	if cfg.Region == "" {
		return errors.New("--report: found no region for AWS; set AWS_REGION")
	}
	*into = &cfg
	return nil
}

// configuration returns the AWS configuration for clients other than those of queues.
func (r *Reporting) configuration(ctx context.Context) (aws.Config, error) {
	if r.configure != nil {
		return r.configure(ctx)
	}
	return awsapi.At(ctx, "", nil)
}
