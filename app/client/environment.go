package client

import (
	"fmt"
	"strings"

	"github.com/muster-scale/muster/sqsapi"
)

// Variable is one variable of a shell's environment.
type Variable struct{ Name, Value string }

// Variables returns what every client of SQS needs to reach the embedded queue at an endpoint. The AWS command line
// of version 1 goes to the real service in each region that it knows, whatever endpoint is set: it reads
// AWS_DEFAULT_REGION, and gets one that it does not know.
func Variables(endpoint string, keys sqsapi.Keys) []Variable {
	return []Variable{
		{"AWS_ENDPOINT_URL_SQS", endpoint}, {"AWS_IGNORE_CONFIGURED_ENDPOINT_URLS", "false"},
		{"AWS_REGION", "us-east-1"}, {"AWS_DEFAULT_REGION", sqsapi.LocalRegion},
		{"AWS_ACCESS_KEY_ID", keys.AccessKeyID}, {"AWS_SECRET_ACCESS_KEY", keys.SecretAccessKey},
	}
}

// Competing returns the variables for which some clients leave those keys aside, or send something else with them.
func Competing() []string {
	return []string{"AWS_PROFILE", "AWS_DEFAULT_PROFILE", "AWS_SESSION_TOKEN", "AWS_SECURITY_TOKEN"}
}

// ShellLines returns the lines that put the variables into a shell.
func ShellLines(set []Variable) string {
	var b strings.Builder
	fmt.Fprintf(&b, "unset %s\n", strings.Join(Competing(), " "))
	for _, v := range set {
		fmt.Fprintf(&b, "export %s=%s\n", v.Name, v.Value)
	}
	return b.String()
}
