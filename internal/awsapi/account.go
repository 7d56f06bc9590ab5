package awsapi

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"regexp"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/smithy-go/middleware"
	"golang.org/x/time/rate"
)

const (
	// DefaultPerSecond is the default rate of attempts of calls. A thousand idle fleets need 35 a
	// second.
	DefaultPerSecond = 50.0
	// DefaultBurst is the default number of attempts at once.
	DefaultBurst = 100
	// maxPerSecond and maxBurst are far above what AWS allows an account.
	maxPerSecond = 100_000
	maxBurst     = 100_000

	// maxAttempts is the largest number of attempts of a call, maxBackoff the longest wait between two.
	// Waits are random, up to a bound that doubles.
	maxAttempts = 4
	maxBackoff  = 5 * time.Second
	// requestTimeout bounds one attempt.
	requestTimeout = 15 * time.Second
	// localRegion is the region for endpoints other than Amazon's, which have no regions but whose
	// clients need one.
	localRegion = "us-east-1"
)

// Options say how calls are made. The zero Options are the defaults.
type Options struct {
	// Region is used where no other is named; empty means that of the SDK's configuration (AWS_REGION
	// or the profile).
	Region string
	// PerSecond is the rate of attempts over all clients, above 0 and at most 100,000. Burst is the
	// number at once, 1 to 100,000. Zero means [DefaultPerSecond] and [DefaultBurst].
	PerSecond float64
	Burst     int
	// Timeout bounds one attempt; zero means 15 seconds.
	Timeout time.Duration
	// HTTP sends the requests; nil means a client of the SDK with that timeout. Tests use one that
	// needs no network.
	HTTP aws.HTTPClient
}

// Account makes the configurations of clients. It is safe for concurrent use.
type Account struct {
	base   aws.Config
	bucket *rate.Limiter
	budget *budget
}

// Open reads the SDK's configuration. It makes no call and looks for no credentials: missing ones show
// with the first call.
func Open(ctx context.Context, o Options) (*Account, error) {
	o.PerSecond, o.Burst, o.Timeout = cmp.Or(o.PerSecond, DefaultPerSecond), cmp.Or(o.Burst,
		DefaultBurst), cmp.Or(o.Timeout, requestTimeout)
	if !(o.PerSecond > 0 && o.PerSecond <= maxPerSecond) || o.Burst < 1 || o.Burst > maxBurst {
		return nil, fmt.Errorf("limit the calls to AWS: found %g a second with a burst of %d, allowed are above 0 to "+
			"%d and 1 to %d", o.PerSecond, o.Burst, maxPerSecond, maxBurst)
	}
	a := &Account{bucket: rate.NewLimiter(rate.Limit(o.PerSecond), o.Burst), budget: newBudget()}
	if o.HTTP == nil {
		o.HTTP = awshttp.NewBuildableClient().WithTimeout(o.Timeout)
	}
	options := []func(*config.LoadOptions) error{
		config.WithHTTPClient(o.HTTP),
		config.WithRetryer(a.retryer),
		config.WithAPIOptions([]func(*middleware.Stack) error{a.limit}),
	}
	cfg, err := load(ctx, o.Region, false, options...)
	if err != nil {
		return nil, err
	}
	a.base = cfg
	return a, nil
}

// Region returns the configuration of clients in a region; an empty name means the account's own.
func (a *Account) Region(name string) (aws.Config, error) {
	cfg := a.base.Copy()
	cfg.Region = cmp.Or(name, cfg.Region)
	if cfg.Region == "" {
		return aws.Config{}, errors.New("choose an AWS region: found none in the configuration; state region, or set " +
			"AWS_REGION")
	}
	return cfg, nil
}

// Queue returns the configuration of clients for the queue with the given URL, in the URL's region. For
// a queue on this machine the URL's host is the endpoint, unless AWS_ENDPOINT_URL_SQS or
// AWS_ENDPOINT_URL names another.
func (a *Account) Queue(queueURL string) (aws.Config, error) {
	u, err := url.Parse(queueURL)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || strings.Trim(u.Path, "/") == "" ||
		u.User != nil {
		return aws.Config{}, fmt.Errorf("open the queue: found the URL %q, one like "+
			"https://sqs.REGION.amazonaws.com/ACCOUNT/NAME is allowed", queueURL)
	}
	region := QueueRegion(queueURL)
	if region == "" && a.base.Region == "" && Local(queueURL) {
		region = localRegion
	}
	cfg, err := a.Region(region)
	if err != nil {
		return aws.Config{}, fmt.Errorf("open the queue %s: %w", queueURL, err)
	}
	if Local(queueURL) && cfg.BaseEndpoint == nil {
		cfg.BaseEndpoint = aws.String(u.Scheme + "://" + u.Host)
	}
	return cfg, nil
}

// amazonHost matches the hosts of Amazon's queue URLs; the groups are the region.
var amazonHost = regexp.MustCompile(`^(?:sqs(?:-fips)?\.([a-z0-9-]+)\.(?:amazonaws\.com(?:\.cn)?|api\.aws)|([a-z0-9-]+)\.queue\.amazonaws\.com(?:\.cn)?)$`)

// QueueRegion returns the region in a queue's URL, or the empty text.
func QueueRegion(queueURL string) string {
	u, err := url.Parse(queueURL)
	if err != nil {
		return ""
	}
	if m := amazonHost.FindStringSubmatch(u.Hostname()); m != nil {
		return cmp.Or(m[1], m[2])
	}
	return ""
}

// Local says whether a URL is of this machine.
func Local(endpoint string) bool {
	u, err := url.Parse(endpoint)
	if err != nil {
		return false
	}
	ip := net.ParseIP(u.Hostname())
	return u.Hostname() == "localhost" || ip != nil && ip.IsLoopback()
}

// retryer returns the retry policy of one client. The budget is shared by all.
func (a *Account) retryer() aws.Retryer {
	return retry.NewStandard(func(o *retry.StandardOptions) {
		o.MaxAttempts, o.MaxBackoff = maxAttempts, maxBackoff
		o.RateLimiter = a.budget
		o.RetryCost, o.RetryTimeoutCost, o.ThrottlingRetryCost, o.NoRetryIncrement = retryCost, retryCost, retryCost, 1
	})
}

// errLimited says that the call would have to wait for a token longer than it may take.
var errLimited = errors.New("the controller's own limit of calls to AWS leaves no room for it")

// limit makes every attempt of a call wait for a token. It is inserted behind the SDK's retries, so
// that each attempt counts.
func (a *Account) limit(stack *middleware.Stack) error {
	return stack.Finalize.Insert(middleware.FinalizeMiddlewareFunc("MusterLimit", func(
		ctx context.Context, in middleware.FinalizeInput, next middleware.FinalizeHandler,
	) (middleware.FinalizeOutput, middleware.Metadata, error) {
		if err := a.bucket.Wait(ctx); err != nil {
			if ctx.Err() != nil {
				err = ctx.Err()
			} else {
				err = errLimited
			}
			return middleware.FinalizeOutput{}, middleware.Metadata{}, err
		}
		return next.HandleFinalize(ctx, in)
	}), "Retry", middleware.After)
}
