package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awssqs "github.com/aws/aws-sdk-go-v2/service/sqs"

	"github.com/muster-scale/muster"
	"github.com/muster-scale/muster/app"
	"github.com/muster-scale/muster/config"
	"github.com/muster-scale/muster/internal/awsapi"
	"github.com/muster-scale/muster/server"
	"github.com/muster-scale/muster/sqsapi"
)

// defaultFile is the configuration of commands for which none is named, when it is there.
const defaultFile = "muster.yaml"

// file returns the configuration that was named, or else the one in this directory; empty when there is none.
func (g *global) file() string {
	if g.config != "" {
		return g.config
	}
	if stat, err := os.Stat(defaultFile); err == nil && stat.Mode().IsRegular() {
		return defaultFile
	}
	return ""
}

// needFile returns the configuration for a command that cannot do without.
func (g *global) needFile(command string) (string, error) {
	path := g.file()
	if path == "" {
		return "", usage(fmt.Errorf("%s: there is no %s here: name the configuration with -f FILE, or write one with muster init", command, defaultFile))
	}
	return path, nil
}

// empty is the configuration of an empty set-up.
func empty() *config.Config {
	return &config.Config{Data: ".muster", Listen: config.Listen{Queue: "127.0.0.1:9324", API: "127.0.0.1:9325"}}
}

// load reads the configuration, or returns the one of an empty set-up when there is none.
func (g *global) load() (*config.Config, error) {
	path := g.file()
	if path == "" {
		return empty(), nil
	}
	c, err := config.Load(path)
	return c, usage(err)
}

// place reads where the program runs that was started with the configuration. A fault elsewhere in the file does not keep a
// command from asking that program: it is noted once, for [global.noted].
func (g *global) place() (*config.Config, error) {
	path := g.file()
	if path == "" {
		return empty(), nil
	}
	c, fault, err := config.LoadPlace(path)
	if err != nil {
		return nil, usage(err)
	}
	g.fault = fault
	return c, nil
}

// noted says that the file has a fault that did not matter.
func (g *global) noted(errOut io.Writer) {
	if faults, ok := errors.AsType[config.Faults](g.fault); ok && !g.json() {
		fmt.Fprintf(errOut, "muster: what runs is shown, although the configuration has %s; muster check shows all: %s\n",
			muster.Plural(len(faults), "fault"), faults[0].String())
	}
}

// useGivenKeys gives the AWS SDK the keys of the embedded queue that this worker was given. It comes after everything that is about
// AWS itself. It is false for a worker that was given none.
func useGivenKeys() bool {
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

// useLocalKeys gives the AWS SDK the keys of the embedded queue in this directory, so that commands beside a running muster up
// need no export lines: at the endpoint of the configuration, where no other keys count, and elsewhere on this machine when the
// environment holds none.
func (g *global) useLocalKeys(target string) {
	u, err := url.Parse(target)
	if err != nil || !isLoopback(u.Hostname()) {
		return
	}
	c, err := g.place()
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

// sqsClient returns an SQS client for the queue or endpoint at target.
func (g *global) sqsClient(ctx context.Context, target string) (*awssqs.Client, error) {
	cfg, err := g.sqsConfig(ctx, target)
	if err != nil {
		return nil, err
	}
	return awssqs.NewFromConfig(cfg), nil
}

// sqsConfig is the configuration of [global.sqsClient].
func (g *global) sqsConfig(ctx context.Context, target string) (aws.Config, error) {
	u, err := url.Parse(target)
	if err != nil || u.Host == "" || (u.Scheme != "http" && u.Scheme != "https") {
		return aws.Config{}, usage(fmt.Errorf("%q is no URL of a queue; one looks like http://127.0.0.1:9324/000000000000/default", target))
	}
	g.useLocalKeys(target)
	return awsapi.At(ctx, target, nil)
}

// errNotRunning means that no muster up answers.
var errNotRunning = errors.New("muster up is not running")

// get asks the API of the running muster up, with the token in its data directory.
func (g *global) get(ctx context.Context, c *config.Config, path string, into any) error {
	ctx, stop := context.WithTimeout(ctx, 5*time.Second)
	defer stop()
	resp, err := g.ask(ctx, c, http.MethodGet, path, nil)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return refused(resp)
	}
	body, err := io.ReadAll(io.LimitReader(resp.Body, 64<<20))
	if err != nil {
		return fmt.Errorf("ask %s: %w", resp.Request.URL, err)
	}
	return json.Unmarshal(body, into)
}

// ask sends a request to the API of the running muster up. The caller closes the body of the answer, whose status may be any
// but that of a wrong token. An error that is not errNotRunning leaves open whether the request arrived.
func (g *global) ask(ctx context.Context, c *config.Config, method, path string, body io.Reader) (*http.Response, error) {
	where := "http://" + c.Listen.API
	notRunning := fmt.Errorf("%w here: nothing answers at %s with the token of %s; start it, or name its configuration with -f", errNotRunning, where, c.Data)
	tokenPath := filepath.Join(c.Data, app.TokenFile)
	if _, err := os.Stat(tokenPath); err != nil {
		return nil, notRunning
	}
	token, err := server.LoadOrCreateToken(tokenPath)
	if err != nil {
		return nil, err
	}
	req, err := http.NewRequestWithContext(ctx, method, where+path, body)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Authorization", "Bearer "+token.Reveal())
	resp, err := http.DefaultClient.Do(req)
	switch {
	case err != nil && method == http.MethodGet || errors.Is(err, syscall.ECONNREFUSED):
		return nil, notRunning
	case err != nil:
		return nil, err
	case resp.StatusCode == http.StatusUnauthorized:
		resp.Body.Close()
		return nil, notRunning
	}
	return resp, nil
}

// refused is the error of an answer that is none of those wanted.
func refused(resp *http.Response) error {
	body, _ := io.ReadAll(io.LimitReader(resp.Body, 4<<10))
	var said struct {
		Error string `json:"error"`
	}
	if json.Unmarshal(body, &said) == nil && said.Error != "" {
		return fmt.Errorf("ask %s: %s", resp.Request.URL.Path, said.Error)
	}
	return fmt.Errorf("ask %s: %s: %.500s", resp.Request.URL, resp.Status, body)
}
