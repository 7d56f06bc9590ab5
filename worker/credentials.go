package worker

import (
	"github.com/aws/aws-sdk-go-v2/aws"

	"github.com/muster-scale/muster/internal/awsapi"
)

// NoCredentialsError says that a call could not be signed, and what to do about it, without the layers of the SDK.
type NoCredentialsError = awsapi.NoCredentialsError

// SayWhatIsMissing makes the failures of a provider [NoCredentialsError], but for those of a context that ended. It is safe
// for concurrent use if the provider is.
func SayWhatIsMissing(from aws.CredentialsProvider) aws.CredentialsProvider {
	return awsapi.SayWhatIsMissing(from)
}
