package worker_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"

	"github.com/muster-scale/muster/internal/awsapi"

	"github.com/muster-scale/muster/worker/sqsqueue"
)

func TestMissingCredentialsAreSaidWithoutTheLayersOfTheSDK(t *testing.T) {
	ended, end := context.WithCancel(t.Context())
	end()
	for _, row := range []struct {
		name  string
		ctx   context.Context
		cause error
		says  string
		not   string
	}{
		{"nothing anywhere", t.Context(),
			errors.New("failed to refresh cached credentials, no EC2 IMDS role found, operation error ec2imds: " +
				"GetMetadata"),
			"found no AWS credentials; set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, name a profile", "IMDS"},
		{"a session that has ended", t.Context(),
			errors.Join(errors.New("failed to refresh cached credentials, the SSO session has expired")),
			"the SSO session has expired); fix that, or set AWS_ACCESS_KEY_ID", ""},
		{"a call that was given up", ended, context.Canceled, "context canceled", "credentials"},
	} {
		t.Run(row.name, func(t *testing.T) {
			p := awsapi.SayWhatIsMissing(aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials,
				error) {
				return aws.Credentials{}, row.cause
			}))
			_, err := p.Retrieve(row.ctx)
			if err == nil || !strings.Contains(err.Error(), row.says) || row.not != "" &&
				strings.Contains(err.Error(), row.not) || !errors.Is(err, row.cause) {
				t.Errorf("%v; want %q in it, and not %q", err, row.says, row.not)
			}
		})
	}
	given := aws.Credentials{AccessKeyID: "id", SecretAccessKey: "secret"}
	p := awsapi.SayWhatIsMissing(aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials,
		error) {
		return given, nil
	}))
	if got, err := p.Retrieve(t.Context()); got != given || err != nil {
		t.Errorf("credentials that are there: %v, %v", got, err)
	}
}

// TestAQueueOnSQSWithoutCredentials measures nothing over the network: without credentials no request is sent.
func TestAQueueOnSQSWithoutCredentials(t *testing.T) {
	for _, name := range []string{"AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "AWS_PROFILE",
		"AWS_WEB_IDENTITY_TOKEN_FILE",
		"AWS_CONTAINER_CREDENTIALS_FULL_URI", "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI", "AWS_ENDPOINT_URL_SQS",
		"AWS_ENDPOINT_URL"} {
		t.Setenv(name, "")
	}
	none := t.TempDir() + "/none"
	t.Setenv("AWS_CONFIG_FILE", none)
	t.Setenv("AWS_SHARED_CREDENTIALS_FILE", none)
	t.Setenv("AWS_EC2_METADATA_DISABLED", "true")
	const url = "https://sqs.eu-west-1.amazonaws.com/123456789012/reports"
	q, err := sqsqueue.NewSQS(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	_, err = q.Receive(t.Context(), 1, 0, 0)
	want := "receive from the queue " + url + ": found no AWS credentials; set AWS_ACCESS_KEY_ID"
	if err == nil || !strings.HasPrefix(err.Error(), want) || strings.Contains(err.Error(), "operation error") {
		t.Errorf("%v; want %s...", err, want)
	}
}
