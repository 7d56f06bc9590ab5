// Package awsapi makes the configurations of all AWS clients of a controller, and explains what AWS refuses.
//
// An [Account] is opened once. Credentials come from the SDK's default chain alone, endpoints from where the SDK looks
// for them: AWS_ENDPOINT_URL, AWS_ENDPOINT_URL_<SERVICE> and the profile. All clients of an account, in all regions,
// share one token bucket, from which every attempt of every call takes a token, and one budget of retries: a tenth of
// the calls. So a controller of a thousand fleets stays within a rate that is known, and recovery from a throttled hour
// does not begin with a storm of retries.
//
// A client is made of a configuration with the constructor of its own package:
//
//	account, err := awsapi.Open(ctx, awsapi.Options{})
//	cfg, err := account.Region("eu-west-1")
//	client := autoscaling.NewFromConfig(cfg)
//
// What a call returns goes through [Explain], which says who may not do what, what does not exist, and what to do.
package awsapi
