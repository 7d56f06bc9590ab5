package client

import (
	"net"
	"net/url"
	"os"
	"path/filepath"

	"github.com/muster-scale/muster/app"
	"github.com/muster-scale/muster/config"
	"github.com/muster-scale/muster/sqsapi"
)

// Place returns the configuration of what runs, as far as it says where that is. It may read a file, and is called only
// where the place is needed.
type Place func() (*config.Config, error)

// UseGivenKeys gives the AWS SDK the keys of the embedded queue that the environment of a worker has, and takes them
// out of the environment. It is false for a worker that was given none. Call it after everything that is about AWS
// itself, and before other goroutines read the environment.
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

// setQueueKeys puts the keys of an embedded queue into the place of those of AWS.
func setQueueKeys(id, secret string) {
	for name, value := range map[string]string{
		"AWS_ACCESS_KEY_ID": id, "AWS_SECRET_ACCESS_KEY": secret, "AWS_SESSION_TOKEN": "", "AWS_REGION": "us-east-1",
		"AWS_DEFAULT_REGION": "us-east-1", "AWS_PROFILE": "",
	} {
		os.Setenv(name, value)
	}
}

// UseLocalKeys gives the AWS SDK the keys of the embedded queue of the place, so that commands beside a running muster
// up need no export lines: at the endpoint of the configuration, where no other keys count, and elsewhere on this
// machine when the environment holds none. It changes the environment of this process.
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
