package box

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"slices"
	"sync"

	"github.com/muster-scale/muster/sim/contest"
	"github.com/muster-scale/muster/sim/limit"
	"github.com/muster-scale/muster/sim/worlds"
	"github.com/muster-scale/muster/tools/score/arena"
)

// The worlds: which are judged, which are for tuning, and where results are kept.

const (
	// Name is the name of the part.
	Name = "box"
	// WorldCount is how many worlds are drawn by default, MostDrawn how many may be.
	WorldCount, MostDrawn = 300, 100_000
	// DrawCount is how often each world is played by default, MostTimes how often it may be. The mean of three shows
	// less luck than one run.
	DrawCount, MostTimes = 3, 100
	// firstTuning to lastTuning are the worlds that a baseline is tuned on. They are never judged.
	firstTuning, lastTuning = 100_001, 100_020
)

// Box is the part of worlds drawn at random: what it plays, and where it keeps what was found. New chooses the worlds;
// the caller sets the other fields before Play.
type Box struct {
	*arena.Arena
	// Ctx ends the runs.
	Ctx context.Context
	// Peers are the other autoscalers, at their defaults.
	Peers []contest.Contender
	// Numbers are those of the worlds that are judged, DrawnFrom says where they come from; Tuning are those of the
	// worlds that a baseline is tuned on. Draw draws one.
	Numbers, Tuning []uint64
	DrawnFrom       string
	Draw            func(uint64) worlds.World
	// Draws is how often each world is played; 0 stands for 1.
	Draws int
	// Named are worlds with limits of their own.
	Named []worlds.Named
	// DrawnRuns keeps outcomes of baselines, and Print is the fingerprint of the code that plays them; empty while
	// nothing may be taken from there. Oracles keeps schedules.
	DrawnRuns *arena.Store[worlds.Outcome]
	Print     string
	Oracles   *arena.Store[limit.Schedule]
	// Outcomes is the file of what the baselines did: see [Published]. They play only in worlds that it does not have,
	// and then it is written anew. An empty path keeps none.
	Outcomes string

	// noting guards notes, which worlds add to while they are played.
	noting sync.Mutex
	notes  []string
}

// New chooses the worlds that are judged: a range of numbers such as 1-300, or count numbers that are made from the
// commit. Nobody can choose constants by worlds that depend on the commit.
func New(numbers string, count int, commit string) (*Box, error) {
	d := &Box{Tuning: tuningWorlds(), Draw: worlds.Draw, Named: worlds.All()}
	if numbers == "" {
		d.Numbers, d.DrawnFrom = freshNumbers(commit, count), "whose numbers are made from the commit "+commit
		return d, nil
	}
	var from, to uint64
	if n, _ := fmt.Sscanf(numbers, "%d-%d", &from, &to); n == 1 {
		to = from
	}
	// 0 is no number of a world.
	if from == 0 || from > to || to-from >= MostDrawn {
		return d, fmt.Errorf("-numbers: found %q, write a range of at most %d numbers, as in 1-300", numbers, MostDrawn)
	}
	// A baseline would be judged where it was tuned.
	if from <= lastTuning && to >= firstTuning {
		return d, fmt.Errorf("-numbers: found %q, which has worlds that a baseline is tuned on; give others than %d "+
			"to %d", numbers, firstTuning, lastTuning)
	}
	for n := from; n <= to; n++ {
		d.Numbers = append(d.Numbers, n)
	}
	d.DrawnFrom = fmt.Sprintf("with the numbers %d to %d", from, to)
	return d, nil
}

// freshNumbers makes count different numbers from a commit, none of them that of a world for tuning.
func freshNumbers(commit string, count int) []uint64 {
	var all []uint64
	for i := 0; len(all) < count; i++ {
		sum := sha256.Sum256(fmt.Appendf(nil, "%s world %d", commit, i))
		n := uint64(binary.LittleEndian.Uint32(sum[:]))
		if n >= firstTuning && n <= lastTuning || slices.Contains(all, n) {
			continue
		}
		all = append(all, n)
	}
	return all
}

// tuningWorlds are the numbers of the worlds that a baseline is tuned on.
func tuningWorlds() []uint64 {
	var all []uint64
	for n := uint64(firstTuning); n <= lastTuning; n++ {
		all = append(all, n)
	}
	return all
}
