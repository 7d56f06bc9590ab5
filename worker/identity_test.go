package worker_test

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/muster-scale/muster/mustertest"

	"github.com/muster-scale/muster/worker/placement"
)

func TestAnInstanceKnowsItself(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := mustertest.NewIMDS(time.Now)
		s.Fail(2) // it has just booted
		id, err := placement.EC2(t.Context(), "", via(s))
		if want := (placement.EC2Identity{Instance: "i-0123456789abcdef0", Region: "us-east-1"}); err != nil ||
			id != want {
			t.Errorf("found %+v (%v), want %+v", id, err, want)
		}
	})
}

func TestATaskKnowsItself(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := mustertest.NewECSAgent(time.Now)
		uri := a.Environment("http://agent")["ECS_CONTAINER_METADATA_URI_V4"]
		arn, err := placement.ECSTask(t.Context(), uri, via(a))
		if want := "arn:aws:ecs:us-east-1:000000000000:task/main/0123456789abcdef0123456789abcdef"; err != nil ||
			arn != want {
			t.Errorf("found %q (%v), want %q", arn, err, want)
		}
	})
}

func TestWhoCannotKnowItselfSaysWhy(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := mustertest.NewIMDS(time.Now)
		s.Clear("meta-data/instance-id")
		begun := time.Now()
		id, err := placement.EC2(t.Context(), "http://metadata", via(s))
		if err == nil || !strings.Contains(err.Error(), "read the id of the instance: GET "+
			"http://metadata/latest/meta-data/instance-id: found nothing") || id.Region != "" {
			t.Errorf("found %+v (%v)", id, err)
		}
		if took := time.Since(begun); took < 5*time.Second || took > 15*time.Second {
			t.Errorf("tried for %s, want some ten seconds", took)
		}
		a := mustertest.NewECSAgent(time.Now)
		if arn, err := placement.ECSTask(t.Context(), "http://agent/v4/another", via(a)); err == nil ||
			!strings.Contains(err.Error(), "read the id of the task") {
			t.Errorf("found %q (%v)", arn, err)
		}
	})
}
