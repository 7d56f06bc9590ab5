package leader_test

import (
	"testing"

	"github.com/muster-scale/muster/leader"
	"github.com/muster-scale/muster/leader/leasetest"
)

func TestTheMemoryKeepsTheContract(t *testing.T) {
	leasetest.Conformance(t, func(*testing.T) leader.Store { return leasetest.NewMemory() })
}
