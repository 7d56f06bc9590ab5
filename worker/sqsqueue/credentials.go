package sqsqueue

import "github.com/muster-scale/muster/internal/awsapi"

// NoCredentialsError says that a call could not be signed, and what to do about it, without the SDK's wrapping.
type NoCredentialsError = awsapi.NoCredentialsError
