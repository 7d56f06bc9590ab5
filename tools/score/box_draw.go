package main

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/muster-scale/muster/sim/limit"
	"github.com/muster-scale/muster/sim/worlds"
)

const (
	// boxName is the name of the part.
	boxName = "box"
	// worldCount is how many worlds are drawn by default, mostDrawn how many may be.
	worldCount, mostDrawn = 300, 100_000
	// firstTuning to lastTuning are the worlds that a baseline is tuned on. They are never judged.
	firstTuning, lastTuning = 100_001, 100_020
)

// drawing is what the part of drawn worlds plays, and where it keeps what was found.
type drawing struct {
	// numbers are those of the worlds that are judged, drawnFrom says where they come from; tuning are those of the
	// worlds that a baseline is tuned on. draw draws one.
	numbers, tuning []uint64
	drawnFrom       string
	draw            func(uint64) worlds.World
	named           []worlds.Named
	// drawnRuns keeps outcomes of baselines, and boxPrint is the fingerprint of the code that plays them; empty while
	// nothing may be taken from there. oracles keeps schedules.
	drawnRuns *store[worlds.Outcome]
	boxPrint  string
	oracles   *store[limit.Schedule]
	notes     []string
}

// newDrawing chooses the worlds: those that the options name, or as many as they say, made from the commit.
func newDrawing(o options, commit string) (drawing, error) {
	d := drawing{tuning: tuningWorlds(), draw: worlds.Draw, named: worlds.All()}
	if o.numbers == "" {
		d.numbers, d.drawnFrom = freshNumbers(commit, o.worlds), "whose numbers are made from the commit "+commit
		return d, nil
	}
	var from, to uint64
	if n, _ := fmt.Sscanf(o.numbers, "%d-%d", &from, &to); n == 1 {
		to = from
	}
	if from == 0 || from > to || to-from >= mostDrawn {
		return d, fmt.Errorf(
			"-numbers: found %q, write a range of at most %d numbers, as in 1-300",
			o.numbers,
			mostDrawn,
		)
	}
	if from <= lastTuning && to >= firstTuning {
		return d, fmt.Errorf(
			"-numbers: found %q, which has worlds that a baseline is tuned on; give others than %d to %d",
			o.numbers,
			firstTuning,
			lastTuning,
		)
	}
	for n := from; n <= to; n++ {
		d.numbers = append(d.numbers, n)
	}
	d.drawnFrom = fmt.Sprintf("with the numbers %d to %d", from, to)
	return d, nil
}

// freshNumbers makes so many different numbers from a commit, none of them that of a world for tuning.
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
