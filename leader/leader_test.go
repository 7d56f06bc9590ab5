package leader_test

import (
	"errors"
	"testing"

	"github.com/muster-scale/muster/leader"
)

func TestAControllerThatLostItsRightIsNotShownAsLeader(t *testing.T) {
	timing := leader.DefaultTiming()
	m := leader.New(leader.Options{ID: "a", Name: "host-a", Timing: timing, Fleets: []string{"f"}})
	store := map[string]leader.Claim{}
	inputs := []leader.Input{leader.Tick{}}
	for len(inputs) > 0 {
		in := inputs[0]
		inputs = inputs[1:]
		for _, action := range m.Step(0, in) {
			switch x := action.(type) {
			case leader.Beat:
				inputs = append(inputs, leader.Beaten{Session: x.Session})
			case leader.Read:
				inputs = append(inputs, leader.Found{Board: leader.Board{Claims: store}})
			case leader.Take:
				inputs = append(inputs, leader.Took{Take: x})
			}
		}
	}
	if name, own := m.Leader("f"); name != "host-a" || !own {
		t.Fatalf("led by %q, own %t, want itself", name, own)
	}
	m.Step(timing.Stop(), leader.Beaten{Err: errors.New("no route")})
	m.Step(timing.Stop(), leader.Yielded{Fleet: "f"})
	if name, own := m.Leader("f"); name != "" || own {
		t.Errorf("led by %q, own %t, want nobody while the store cannot be reached", name, own)
	}
}
