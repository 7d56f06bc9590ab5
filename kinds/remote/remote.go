// Package remote is the table of the kinds of a program without an embedded queue, such as the Lambda functions. It is
// linked with neither the queue nor its storage, which are most of a large program.
//
// Use it like package kinds, whose table is this one with the embedded queue in front:
//
//	c, err := remote.Parse("muster.yaml", text) // an embedded queue is a fault
//	ports, err := opening.Open(ctx, host, remote.Table(), c.Fleets[0])
//
// Add the row of a new kind here, unless it depends on the embedded queue.
package remote

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
	"github.com/muster-scale/muster/source/prometheus"
	"github.com/muster-scale/muster/source/sqs"
)

// Table returns the kinds. The order matters: a fleet that states no kind is of the first kind of members, which starts
// processes; opening it fails in a program that starts none.
func Table() kind.Table {
	return kind.Table{
		Members: []kind.MembersRow{
			process.Kind(),
			asg.Kind(),
			ecs.Kind(),
		},
		Queues: []kind.QueueRow{
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

// Parse reads the configuration in text, with the variables of the environment: see [config.Parse].
func Parse(name string, text []byte) (*config.Config, error) {
	return config.Parse(name, text, os.LookupEnv, Table().Config())
}
