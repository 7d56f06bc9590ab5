package cloud_test

import (
	"testing"
	"time"

	"github.com/muster-scale/muster/sim/cloud"
	"github.com/muster-scale/muster/sim/cloud/groupapi"
	"github.com/muster-scale/muster/sim/cloud/queues"
)

// BenchmarkADay lets a day pass for a group of up to 100 instances whose size follows a metric that comes every minute,
// and for a queue that is looked at every ten seconds.
func BenchmarkADay(b *testing.B) {
	for range b.N {
		f := newFleet(b, cloud.Settings{Counts: queues.Counts{Stale: time.Minute}}, 1, 100, 50)
		must(f.SQS().CreateQueue(queues.CreateQueueInput{QueueName: "q"}))(b)
		f.track(10)
		for second := 0; second < 86_400; second += 10 {
			if second%60 == 0 {
				watch{TB: b, World: f.World, cw: f.CloudWatch()}.put("m", float64(5+second/3600%10))
			}
			must(f.SQS().GetQueueAttributes(queues.QueueAttributesInput{QueueUrl: "/q",
				AttributeNames: []string{"All"}}))(b)
			f.pass(10 * time.Second)
		}
	}
}

// BenchmarkAFall takes a group from 5,000 instances in three zones to none.
func BenchmarkAFall(b *testing.B) {
	for range b.N {
		b.StopTimer()
		f := newFleet(b, cloud.Settings{}, 0, 5000, 5000,
			func(in *groupapi.CreateGroup) {
				in.AvailabilityZones = []string{"us-east-1a", "us-east-1b", "us-east-1c"}
			})
		f.pass(5 * time.Minute)
		b.StartTimer()
		f.resize(0)
		f.pass(5 * time.Second)
		b.StopTimer()
		if n := len(f.in(groupapi.InService)); n != 0 {
			b.Fatalf("%d are in service, want none", n)
		}
	}
}
