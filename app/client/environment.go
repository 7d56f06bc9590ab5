package client

import (
	"fmt"
	"strings"

	"github.com/muster-scale/muster/sqsapi"
)

// Variable is one variable of a shell's environment.
type Variable struct{ Name, Value string }

// Variables returns the environment with which a client of SQS reaches the embedded queue at an endpoint. Version 1 of
// the AWS command line ignores the endpoint in every region that it knows, and reads AWS_DEFAULT_REGION; so that
// variable gets a region it does not know.
func Variables(endpoint string, keys sqsapi.Keys) []Variable {
	return []Variable{
		{"AWS_ENDPOINT_URL_SQS", endpoint}, {"AWS_IGNORE_CONFIGURED_ENDPOINT_URLS", "false"},
		{"AWS_REGION", "us-east-1"}, {"AWS_DEFAULT_REGION", sqsapi.LocalRegion},
		{"AWS_ACCESS_KEY_ID", keys.AccessKeyID}, {"AWS_SECRET_ACCESS_KEY", keys.SecretAccessKey},
	}
}

// Competing returns variables that make some clients ignore those keys, or send a session token beside them.
func Competing() []string {
	return []string{"AWS_PROFILE", "AWS_DEFAULT_PROFILE", "AWS_SESSION_TOKEN", "AWS_SECURITY_TOKEN"}
}

// ShellLines returns the shell commands that set the variables.
func ShellLines(set []Variable) string {
	var b strings.Builder
	fmt.Fprintf(&b, "unset %s\n", strings.Join(Competing(), " "))
	for _, v := range set {
		fmt.Fprintf(&b, "export %s=%s\n", v.Name, v.Value)
	}
	return b.String()
}
