package cloud_test

import (
	"testing"
	"time"

	"github.com/muster-scale/muster/sim/cloud"
)

// BenchmarkADay lets a day pass for a group of up to 100 instances whose size follows a metric that comes every minute, and for a
// queue that is looked at every ten seconds.
func BenchmarkADay(b *testing.B) {
	for range b.N {
		f := newFleet(b, cloud.Settings{Counts: cloud.Counts{Stale: time.Minute}}, 1, 100, 50)
		must(f.SQS().CreateQueue(cloud.CreateQueueInput{QueueName: "q"}))(b)
		f.track(10)
		for second := 0; second < 86_400; second += 10 {
			if second%60 == 0 {
				watch{b, f.World, f.CloudWatch()}.put("m", float64(5+second/3600%10))
			}
			must(f.SQS().GetQueueAttributes(cloud.QueueAttributesInput{QueueUrl: "/q", AttributeNames: []string{"All"}}))(b)
			f.pass(10 * time.Second)
		}
	}
}
