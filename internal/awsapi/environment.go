package awsapi

import (
	"net/url"
	"os"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/smithy-go/middleware"
)

// environment returns a configuration from environment variables alone, or false. It applies only to a
// queue on this machine without TLS, if the environment has keys and region and names no profile. The
// workers of a fleet on the embedded queue have such an environment. [config.LoadDefaultConfig] would
// return the same, since the environment precedes all files. But it reads the files and the
// certificates of AWS_CA_BUNDLE nevertheless, and delays the start of a worker by milliseconds. A nil
// client means one of the SDK.
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

// plainHTTP says whether a URL is on this machine and without TLS.
func plainHTTP(target string) bool {
	u, err := url.Parse(target)
	return err == nil && u.Scheme == "http" && Local(target)
}
