package awsapi

import (
	"net/url"
	"os"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/smithy-go/middleware"
)

// environment returns the configuration for a queue on this machine that is reached without TLS, when the environment
// holds the keys and the region, as it does for the workers of a fleet on the embedded queue. It is what
// [config.LoadDefaultConfig] finds in the environment, which stands above all files. But that one reads the files and
// the certificates of AWS_CA_BUNDLE all the same, where a worker that somebody waits for loses milliseconds with what
// this queue has no use for. In every other case it returns false. A nil client is one of the SDK's own.
func environment(target string, client aws.HTTPClient) (aws.Config, bool) {
	if endpoint := os.Getenv(endpointSQS); !plainHTTP(target) || endpoint != "" && !plainHTTP(endpoint) {
		return aws.Config{}, false
	}
	env, err := config.NewEnvConfig()
	if err != nil || !env.Credentials.HasKeys() || env.Region == "" || env.SharedConfigProfile != "" ||
		env.IgnoreConfiguredEndpoints != nil {
		return aws.Config{}, false
	}
	return aws.Config{
		Region: env.Region, HTTPClient: client, APIOptions: []func(*middleware.Stack) error{PlainBody},
		Credentials:   SayWhatIsMissing(credentials.StaticCredentialsProvider{Value: env.Credentials}),
		ConfigSources: []any{env}, DefaultsMode: env.DefaultsMode, RetryMode: env.RetryMode,
		RetryMaxAttempts: env.RetryMaxAttempts, AppID: env.AppID,
	}, true
}

// plain tells whether a URL is on this machine and without TLS.
func plainHTTP(target string) bool {
	u, err := url.Parse(target)
	return err == nil && u.Scheme == "http" && Local(target)
}
