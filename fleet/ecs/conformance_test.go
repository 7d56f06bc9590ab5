package ecs_test

import (
	"testing"
	"time"

	"github.com/muster-scale/muster"
	"github.com/muster-scale/muster/fleet/ecs"
	"github.com/muster-scale/muster/mustertest"
	model "github.com/muster-scale/muster/sim/cloud"
)

func TestServiceConformance(t *testing.T) {
	mustertest.ServiceConformance(t, func(t *testing.T, test func(*testing.T, muster.Fleet, func())) {
		inTime(t, model.Settings{}, func(s stage) {
			test(s.t, s.service(0, ecs.ServiceOptions{Protect: true}), func() { pass(3 * time.Minute) })
		})
	})
}

func TestTasksConformance(t *testing.T) {
	mustertest.ServiceConformance(t, func(t *testing.T, test func(*testing.T, muster.Fleet, func())) {
		inTime(t, model.Settings{}, func(s stage) {
			test(s.t, s.tasks("web"), func() { pass(3 * time.Minute) })
		})
	})
}
