package awsapi

import (
	"cmp"
	"context"
	"fmt"
	"net/url"
	"os"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/feature/ec2/imds"
)

// endpointSQS is the environment variable of the AWS tools that redirects SQS calls.
const endpointSQS = "AWS_ENDPOINT_URL_SQS"

// At returns the configuration of clients for the queue or endpoint at a URL, for a worker or a command
// that shares no limit of calls with others. A controller uses an [Account] instead. Region,
// credentials and endpoint come from where the AWS tools look for them, with two differences: a region
// in the URL takes precedence, and a URL on this machine is its own endpoint unless
// AWS_ENDPOINT_URL_SQS names another. For an http URL on this machine no file is read if the
// environment has keys and a region, and names no profile. An empty URL means no queue. Retries are the
// SDK's own. A nil client means one of the SDK.
func At(ctx context.Context, target string, client aws.HTTPClient) (aws.Config, error) {
	here, elsewhere := Local(target), os.Getenv(endpointSQS) != ""
	var more []func(*config.LoadOptions) error
	if client != nil {
		more = append(more, config.WithHTTPClient(client))
	}
	cfg, said := environment(target, client)
	if !said {
		var err error
		if cfg, err = load(ctx, QueueRegion(target), here, more...); err != nil {
			return cfg, err
		}
	}
	if cfg.Region == "" && (here || target != "" && elsewhere) {
		cfg.Region = localRegion
	}
	if u, err := url.Parse(target); err == nil && here && !elsewhere {
		cfg.BaseEndpoint = aws.String(u.Scheme + "://" + u.Host)
	}
	return cfg, nil
}

// load reads the SDK's configuration; a given region takes precedence. It makes no call and looks for
// no credentials: missing ones show, with an explanation, in the first call. here says that all calls
// go to this machine.
func load(ctx context.Context, region string, here bool, more ...func(*config.LoadOptions) error) (aws.Config, error) {
	standIn := Local(os.Getenv("AWS_ENDPOINT_URL"))
	if region != "" {
		more = append(more, config.WithRegion(region))
	}
	if here || standIn && os.Getenv("AWS_EC2_METADATA_SERVICE_ENDPOINT") == "" {
		// A service on this machine accepts no instance role, and looking for one only costs time.
		more = append(more, config.WithEC2IMDSClientEnableState(imds.ClientDisabled))
	}
	cfg, err := config.LoadDefaultConfig(ctx, more...)
	if err != nil {
		return cfg, fmt.Errorf("read the AWS configuration: %w", err)
	}
	if standIn {
		cfg.Region = cmp.Or(cfg.Region, localRegion)
	}
	cfg.APIOptions = append(cfg.APIOptions, PlainBody)
	cfg.Credentials = SayWhatIsMissing(cfg.Credentials)
	return cfg, nil
}
