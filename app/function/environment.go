package function

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/muster-scale/muster/config"
	"github.com/muster-scale/muster/internal/awsapi"
	"github.com/muster-scale/muster/kind"
	"github.com/muster-scale/muster/kinds/remote"
)

// The variables of the environment.
const (
	// VariableFunction chooses the function.
	VariableFunction = "MUSTER_FUNCTION"
	// VariableConfig holds the configuration as text. Without it the function reads muster.yaml, from its own package
	// or from a layer.
	VariableConfig = "MUSTER_CONFIG"
	// VariableFleets names the fleets of the function, separated by commas; without it all fleets are.
	VariableFleets = "MUSTER_FLEETS"
	// VariableHistory names the table of the history, as dynamodb:TABLE.
	VariableHistory = "MUSTER_HISTORY"
	// VariableQueue is the URL of the queue for test messages.
	VariableQueue = "MUSTER_QUEUE"
	// VariableProtected is "instance" if the workers protect their own instance while they are busy.
	VariableProtected = "MUSTER_PROTECTED"
)

const (
	// configFile is the name of the configuration in the package and in a layer.
	configFile = "muster.yaml"
	// layerDir is where Lambda unpacks layers.
	layerDir = "/opt"
	// maxConfig bounds the configuration, in bytes.
	maxConfig = 4 << 20
	// tablePrefix marks the name of a table of DynamoDB.
	tablePrefix = "dynamodb:"
)

// environment is what a function is opened with.
type environment struct{ Options }

// text returns a variable; empty if it is not set.
func (e environment) text(name string) string {
	v, _ := e.Lookup(name)
	return strings.TrimSpace(v)
}

// config reads the configuration: of the variable, or else of the file beside the program or in a layer.
func (e environment) config() (*config.Config, error) {
	if text := e.text(VariableConfig); text != "" {
		return remote.Parse(VariableConfig, []byte(text))
	}
	dirs := []string{layerDir}
	if own := e.text("LAMBDA_TASK_ROOT"); own != "" {
		dirs = []string{own, layerDir}
	}
	for _, dir := range dirs {
		path := filepath.Join(dir, configFile)
		info, err := os.Stat(path)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err == nil && info.Size() > maxConfig {
			err = fmt.Errorf("found %d bytes, allowed are %d", info.Size(), maxConfig)
		}
		var text []byte
		if err == nil {
			text, err = os.ReadFile(path)
		}
		if err != nil {
			return nil, fmt.Errorf("read the configuration %s: %w", path, err)
		}
		return remote.Parse(path, text)
	}
	return nil, fmt.Errorf("found no configuration: set %s to its text, or put %s beside the program or into a layer",
		VariableConfig, configFile)
}

// fleets returns the configuration and the fleets of the function.
func (e environment) fleets() (*config.Config, []config.Fleet, error) {
	c, err := e.config()
	if err != nil {
		return nil, nil, err
	}
	named := e.text(VariableFleets)
	if named == "" {
		if len(c.Fleets) == 0 {
			return nil, nil, errors.New("the configuration has no fleets")
		}
		return c, c.Fleets, nil
	}
	var some []config.Fleet
	for name := range strings.SplitSeq(named, ",") {
		name = strings.TrimSpace(name)
		i := slices.IndexFunc(c.Fleets, func(f config.Fleet) bool { return f.Name == name })
		if i < 0 {
			return nil, nil, fmt.Errorf("%s: found no fleet %q in the configuration", VariableFleets, name)
		}
		some = append(some, c.Fleets[i])
	}
	return c, some, nil
}

// host returns the host of the kinds.
func (e environment) host(c *config.Config) *kind.Host {
	return kind.NewHost(kind.HostOptions{AWS: c.AWS, HTTP: e.HTTP, Logger: e.Logger})
}

// account opens the AWS account for a function without a configuration.
func (e environment) account(ctx context.Context) (*awsapi.Account, error) {
	return awsapi.Open(ctx, awsapi.Options{HTTP: e.HTTP})
}
