package kinds

import (
	"os"

	"github.com/muster-scale/muster/channel/command"
	"github.com/muster-scale/muster/channel/smtp"
	"github.com/muster-scale/muster/channel/sns"
	"github.com/muster-scale/muster/channel/webhook"
	"github.com/muster-scale/muster/config"
	"github.com/muster-scale/muster/fleet/asg"
	"github.com/muster-scale/muster/fleet/delegate"
	"github.com/muster-scale/muster/fleet/ecs"
	"github.com/muster-scale/muster/fleet/process"
	"github.com/muster-scale/muster/kind"
	"github.com/muster-scale/muster/source/cloudwatch"
	"github.com/muster-scale/muster/source/embedded"
	"github.com/muster-scale/muster/source/prometheus"
	"github.com/muster-scale/muster/source/sqs"
)

// Table returns the kinds. The order matters: a fleet that states no kind is of the first kind of members, and a queue
// is of the first kind that takes its name.
func Table() kind.Table {
	return kind.Table{
		Members: []kind.MembersRow{
			process.Kind(),
			asg.Kind(),
			ecs.Kind(),
		},
		Queues: []kind.QueueRow{
			embedded.Kind(),
			sqs.Kind(),
		},
		Signals: []kind.SignalRow{
			cloudwatch.Kind(),
			prometheus.Kind(),
		},
		Sizers: []kind.SizerRow{
			delegate.Kind(),
		},
		Channels: []kind.ChannelRow{
			webhook.Kind(),
			sns.Kind(),
			smtp.Kind(),
			command.Kind(),
		},
		Meter:     cloudwatch.MeterOf,
		Publisher: delegate.PublisherOf,

		MeterPermissions:     cloudwatch.MeterPermissions,
		PublisherPermissions: delegate.PublisherPermissions,
	}
}

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
