package awsapi

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
)

// NoCredentialsError says that a call could not be signed, and what to do, without the layers of the
// SDK's error.
type NoCredentialsError struct {
	// Err is the error of the SDK.
	Err error
}

// Error says what is missing and where it may come from.
func (e *NoCredentialsError) Error() string {
	const remedy = "set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, name a profile in AWS_PROFILE, or run on a " +
		"machine with a role"
	if strings.Contains(e.Err.Error(),
		"no EC2 IMDS role found") { // the last place where the SDK looks, so no place has any
		return "found no AWS credentials; " + remedy
	}
	reason := e.Err
	for errors.Unwrap(reason) != nil {
		reason = errors.Unwrap(reason)
	}
	return fmt.Sprintf("found no AWS credentials that can be used (%v); fix that, or %s", reason, remedy)
}

// Unwrap returns the error of the SDK.
func (e *NoCredentialsError) Unwrap() error { return e.Err }

// SayWhatIsMissing wraps the failures of a provider in [NoCredentialsError], except those of an ended
// context. It is safe for concurrent use if the provider is.
func SayWhatIsMissing(from aws.CredentialsProvider) aws.CredentialsProvider {
	return aws.CredentialsProviderFunc(func(ctx context.Context) (aws.Credentials, error) {
		c, err := from.Retrieve(ctx)
		if err != nil && ctx.Err() == nil {
			err = &NoCredentialsError{err}
		}
		return c, err
	})
}
