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

// endpointSQS is the variable of the AWS tools that sends calls of SQS elsewhere.
const endpointSQS = "AWS_ENDPOINT_URL_SQS"

// At returns the configuration of clients for the queue or the endpoint at a URL, as a worker or a command needs it
// that shares no limit of calls with others: those of a controller come from an [Account]. Region, credentials and
// endpoint come from where the AWS tools look for them, with two differences: a URL that names a region uses that, and
// a URL on this machine is its own endpoint unless AWS_ENDPOINT_URL_SQS names another. No file is read for a URL of
// http on this machine when the environment has keys and a region, and names no profile. An empty URL is that of no
// queue. Retries are the SDK's own. A nil client is one of the SDK.
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

// load reads the SDK's configuration; a region that is named goes over its own. Nothing is called and no credentials
// are looked for: those that are missing show with the first call, in words. here is true where all calls go to this
// machine.
func load(ctx context.Context, region string, here bool, more ...func(*config.LoadOptions) error) (aws.Config, error) {
	standIn := Local(os.Getenv("AWS_ENDPOINT_URL"))
	if region != "" {
		more = append(more, config.WithRegion(region))
	}
	if here || standIn && os.Getenv("AWS_EC2_METADATA_SERVICE_ENDPOINT") == "" {
		// What is on this machine takes no instance role; looking for one only costs time.
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
