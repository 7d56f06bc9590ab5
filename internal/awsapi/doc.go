// Package awsapi makes the configurations of all AWS clients of a controller, limits their calls, and
// explains AWS's errors.
//
// An [Account] is opened once for a controller. Credentials come only from the SDK's default chain.
// Endpoints come from where the SDK looks for them: AWS_ENDPOINT_URL, AWS_ENDPOINT_URL_<SERVICE> and
// the profile. All clients of an account, in all regions, share one token bucket, from which every
// attempt of a call takes a token, and one budget of retries: a tenth of the successful calls. So a
// controller of a thousand fleets stays within a known rate, and recovery from throttling does not
// begin with a storm of retries.
//
//		account, err := awsapi.Open(ctx, awsapi.Options{})
//		cfg, err := account.Region("eu-west-1")
//		client := autoscaling.NewFromConfig(cfg)
//		_, err = client.SetDesiredCapacity(ctx, input)
//		err = awsapi.Explain("set the size of the Auto Scaling group web", "eu-west-1", err)
//
//	  - [Explain] turns the error of a call into an [Error] of a [Kind]: who lacks which permission,
//	    what does not exist, and what to do.
//	  - [At] returns a configuration without a shared limit, for workers and commands.
//	  - [Pace] decides when to poll a resource again: fast while it changes, slowly otherwise.
//	  - [PlainBody] works around a fault in how the SDK closes request bodies.
//
// The package calls nothing by itself and knows no service. Metrics of CloudWatch are read through
// internal/awsmetrics, which batches them.
package awsapi
