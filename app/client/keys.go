package client

import (
	"fmt"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"github.com/muster-scale/muster/app"
	"github.com/muster-scale/muster/config"
	"github.com/muster-scale/muster/sqsapi"
)

// Place returns the configuration that says where queues and data are. It may read a file, so it is called only when
// the place is needed.
type Place func() (*config.Config, error)

// UseGivenKeys moves the keys of the embedded queue from a worker's environment into the variables of the AWS SDK. It
// returns false when the environment has none. Call it after all setup that uses AWS itself, and before other
// goroutines read the environment.
func UseGivenKeys() bool {
	id, secret := os.Getenv(app.QueueKeyVariable), os.Getenv(app.QueueSecretVariable)
	if id == "" {
		return false
	}
	setQueueKeys(id, secret)
	os.Unsetenv(app.QueueKeyVariable)
	os.Unsetenv(app.QueueSecretVariable)
	return true
}

// setQueueKeys replaces the AWS keys of this process by those of an embedded queue.
func setQueueKeys(id, secret string) {
	for name, value := range map[string]string{
		"AWS_ACCESS_KEY_ID": id, "AWS_SECRET_ACCESS_KEY": secret, "AWS_SESSION_TOKEN": "", "AWS_REGION": "us-east-1",
		"AWS_DEFAULT_REGION": "us-east-1", "AWS_PROFILE": "",
	} {
		os.Setenv(name, value)
	}
}

// UseLocalKeys gives the AWS SDK the keys of the embedded queue at the place, so that a command needs no export lines.
// It does so for the endpoint of the configuration, which accepts no other keys, and for other endpoints on this
// machine when the environment has no keys. It changes the environment of this process.
func UseLocalKeys(place Place, target string) {
	u, err := url.Parse(target)
	if err != nil || !isLoopback(u.Hostname()) {
		return
	}
	c, err := place()
	if err != nil || os.Getenv("AWS_ACCESS_KEY_ID") != "" && u.Host != c.Listen.Queue {
		return
	}
	path := filepath.Join(c.Data, app.KeysFile)
	if _, err := os.Stat(path); err != nil {
		return
	}
	keys, err := sqsapi.LoadOrCreateKeys(path)
	if err != nil {
		return
	}
	setQueueKeys(keys.AccessKeyID, keys.SecretAccessKey)
}

func isLoopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

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
