// Package remote is the table of the kinds of a program that has neither embedded queues nor workers of its own, such
// as the Lambda functions. It is linked with no SQLite, which is a third of the whole program.
//
// Use it like package kinds, whose table is this one with embedded queues and processes:
//
//	c, err := remote.Parse("muster.yaml", text) // an embedded queue is a fault
//
// Add the row of a new kind here, unless it needs what such a program lacks.
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
	"github.com/muster-scale/muster/kind"
	"github.com/muster-scale/muster/source/cloudwatch"
	"github.com/muster-scale/muster/source/prometheus"
	"github.com/muster-scale/muster/source/sqs"
)

// Table returns the kinds. The order matters: a fleet that states no kind is of the first kind of members, which is a
// fault.
func Table() kind.Table {
	return kind.Table{
		Members: []kind.MembersRow{
			{New: func() kind.Members { return &unsized{} }},
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
