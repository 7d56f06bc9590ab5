package arena

import (
	"slices"

	"github.com/muster-scale/muster/sim/contest"
)

// Entrant is a contender in a race, with its runs on the first seeds so far.
type Entrant struct {
	Contender contest.Contender
	Runs      []Outcome
}

// InTime is the sum of the shares in time over the runs made.
func (x *Entrant) InTime() (sum float64) {
	for _, o := range x.Runs {
		sum += o.InTimeRatio
	}
	return sum
}

// Cost is the sum of the worker-seconds over the runs made.
func (x *Entrant) Cost() (sum float64) {
	for _, o := range x.Runs {
		sum += o.WorkerSeconds
	}
	return sum
}

// Race finds for each share the contender that costs least among those that have this share in time in the mean over
// the seeds, and where none has it, the one with the most in time: what [contest.Hindsight] finds. It leaves out runs
// that can change nothing: of a contender that has lost so much that it cannot keep the share any more, or has paid
// more than one that kept it. The first of equals wins. winners has one entry for each share.
func (a *Arena) Race(e contest.Event, field []contest.Contender, seeds []uint64, shares []float64) (winners []*Entrant,
	err error) {
	all := make([]*Entrant, len(field))
	err = Each(len(field), func(i int) error {
		all[i] = &Entrant{Contender: field[i]}
		return a.advance(e, all[i], seeds)
	})
	if err != nil {
		return nil, err
	}
	for _, share := range shares {
		for {
			next := mostPromising(all, len(seeds), share)
			if next == nil {
				break
			}
			if err := a.advance(e, next, seeds); err != nil {
				return nil, err
			}
		}
		winners = append(winners, winner(all, len(seeds), share))
	}
	return winners, nil
}

// advance plays x on its next seed.
func (a *Arena) advance(e contest.Event, x *Entrant, seeds []uint64) error {
	o, err := a.Run(e, x.Contender, seeds[len(x.Runs)])
	x.Runs = append(x.Runs, o)
	return err
}

// mostPromising returns the entrant to play next: of those that can still win, the one that is best so far. It returns
// nil when the winner is known.
func mostPromising(all []*Entrant, seeds int, share float64) *Entrant {
	best := winner(all, seeds, share)
	var next *Entrant
	for _, x := range all {
		if len(x.Runs) < seeds && mayBeat(x, best, seeds, share) && (next == nil || better(x, next, share)) {
			next = x
		}
	}
	return next
}

// mayBeat tells whether x can still become better than best, if all its remaining runs are perfect. best was played on
// every seed, or is nil.
func mayBeat(x, best *Entrant, seeds int, share float64) bool {
	if best == nil {
		return true
	}
	most := (x.InTime() + float64(seeds-len(x.Runs))) / float64(seeds)
	if Keeps(best, share) {
		return most >= share && x.Cost() <= best.Cost()
	}
	return most >= best.InTime()/float64(seeds)
}

// winner returns the best of the entrants that were played on every seed, or nil.
func winner(all []*Entrant, seeds int, share float64) *Entrant {
	var best *Entrant
	for _, x := range all {
		if len(x.Runs) == seeds && (best == nil || better(x, best, share)) {
			best = x
		}
	}
	return best
}

// Keeps tells whether an entrant has a share in time, in the mean of its runs.
func Keeps(x *Entrant, share float64) bool { return x.InTime()/float64(len(x.Runs)) >= share }

// better compares means: an entrant that keeps the share is better, then the cheaper one; if neither keeps it, the one
// with more in time.
func better(x, y *Entrant, share float64) bool {
	keepsX, keepsY := Keeps(x, share), Keeps(y, share)
	n, m := float64(len(x.Runs)), float64(len(y.Runs))
	switch {
	case keepsX != keepsY:
		return keepsX
	case keepsX:
		return x.Cost()/n < y.Cost()/m
	}
	return x.InTime()/n > y.InTime()/m
}

// Tuned is a peer with its main setting chosen for a share, and whether it kept that share on the seeds it was chosen
// on.
type Tuned struct {
	Peer  contest.Contender
	Share float64
	Kept  bool
}

// Tune chooses the main setting of each peer for each share, on some seeds. A peer without one is what it is.
func (a *Arena) Tune(e contest.Event, peers []contest.Contender, seeds []uint64, shares []float64) ([]Tuned, error) {
	found := make([][]Tuned, len(peers))
	err := Each(len(peers), func(i int) error {
		field := []contest.Contender{peers[i]}
		if c := peers[i]; len(c.Sweep) > 0 {
			field = nil
			for _, v := range c.Sweep {
				field = append(field, c.With(v))
			}
		}
		winners, err := a.Race(e, field, seeds, shares)
		for k, w := range winners {
			found[i] = append(found[i], Tuned{Peer: w.Contender, Share: shares[k], Kept: Keeps(w, shares[k])})
		}
		return err
	})
	return slices.Concat(found...), err
}
