package kinds

import (
	"os"

	"github.com/muster-scale/muster/config"
	"github.com/muster-scale/muster/fleet/process"
	"github.com/muster-scale/muster/kind"
	"github.com/muster-scale/muster/kinds/remote"
	"github.com/muster-scale/muster/queue"
	"github.com/muster-scale/muster/source/embedded"
)

// Table returns the kinds: those of package remote, processes in the place of its first row, and the embedded queue.
// The order matters: a fleet that states no kind is of the first kind of members, and a queue is of the first kind that
// takes its name.
func Table() kind.Table {
	t := remote.Table()
	t.Members[0] = process.Kind()
	t.Queues = append([]kind.QueueRow{embedded.Kind()}, t.Queues...)
	return t
}

// Serve gives the embedded queues of a program to the fleets of its host. Call it before any of them is opened.
func Serve(h *kind.Host, queues *queue.Service) { embedded.Serve(h, queues) }

// Load reads the configuration in the file at path: see [config.Load].
func Load(path string) (*config.Config, error) { return config.Load(path, Table().Config()) }

// LoadPlace reads where the running program is: see [config.LoadPlace].
func LoadPlace(path string) (c *config.Config, fault, err error) {
	return config.LoadPlace(path, Table().Config())
}

// Parse reads the configuration in text: see [config.Parse].
func Parse(name string, text []byte) (*config.Config, error) {
	return config.Parse(name, text, os.LookupEnv, Table().Config())
}

// Schema returns the JSON schema of the configuration: see [config.Schema].
func Schema() map[string]any { return config.Schema(Table().Config()) }
