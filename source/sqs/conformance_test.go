package sqs_test

import (
	"testing"
	"time"

	"github.com/muster-scale/muster"
	"github.com/muster-scale/muster/mustertest"
	"github.com/muster-scale/muster/source/sqs"
)

func TestSourceKeepsTheContract(t *testing.T) {
	mustertest.SourceConformance(t, func(t *testing.T, test func(*testing.T, muster.Source, func(int))) {
		inTime(t, queueURL, nil, func(t *testing.T, s *sqs.Source, aws *standIn) {
			watch(t, s, time.Minute) // until it believes that the queue is empty
			sent := 0
			test(t, s, func(messages int) {
				sent += messages
				aws.set(sent, 0, 0)
				s.Expect()
				watch(t, s, 5*time.Second)
			})
		})
	})
}
