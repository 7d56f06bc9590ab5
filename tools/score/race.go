package main

import (
	"slices"

	"github.com/muster-scale/muster/sim/contest"
)

// entrant is a contender in a race, with what it came to on the seeds that it was played on so far.
type entrant struct {
	contender contest.Contender
	runs      []outcome
}

// inTime and cost are sums over the runs made.
func (x *entrant) inTime() (sum float64) {
	for _, o := range x.runs {
		sum += o.InTimeRatio
	}
	return sum
}

func (x *entrant) cost() (sum float64) {
	for _, o := range x.runs {
		sum += o.WorkerSeconds
	}
	return sum
}

// race finds for each share the contender that costs least among those that have this share in time in the mean over
// the seeds, and where none has it, the one with the most in time: what [contest.Hindsight] finds. It leaves out runs
// that can change nothing: of a contender that has lost so much that it cannot keep the share any more, or has paid
// more than one that kept it. The first of equals wins. winners has one entry for each share.
func (a *arena) race(e contest.Event, field []contest.Contender, seeds []uint64, shares []float64) (winners []*entrant,
	err error) {
	all := make([]*entrant, len(field))
	err = each(len(field), func(i int) error {
		all[i] = &entrant{contender: field[i]}
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

// advance plays x on the next seed.
func (a *arena) advance(e contest.Event, x *entrant, seeds []uint64) error {
	o, err := a.run(e, x.contender, seeds[len(x.runs)])
	x.runs = append(x.runs, o)
	return err
}

// mostPromising returns the entrant that should be played on, or nil when the winner is known: the best in the mean of
// those that can still win.
func mostPromising(all []*entrant, seeds int, share float64) *entrant {
	best := winner(all, seeds, share)
	var next *entrant
	for _, x := range all {
		if len(x.runs) < seeds && mayBeat(x, best, seeds, share) && (next == nil || better(x, next, share)) {
			next = x
		}
	}
	return next
}

// mayBeat tells whether x can still turn out better than best, which was played on every seed; or nil.
func mayBeat(x, best *entrant, seeds int, share float64) bool {
	if best == nil {
		return true
	}
	most := (x.inTime() + float64(seeds-len(x.runs))) / float64(seeds)
	if keeps(best, share) {
		return most >= share && x.cost() <= best.cost()
	}
	return most >= best.inTime()/float64(seeds)
}

// winner returns the best of those that were played on every seed, or nil.
func winner(all []*entrant, seeds int, share float64) *entrant {
	var best *entrant
	for _, x := range all {
		if len(x.runs) == seeds && (best == nil || better(x, best, share)) {
			best = x
		}
	}
	return best
}

func keeps(x *entrant, share float64) bool { return x.inTime()/float64(len(x.runs)) >= share }

// better compares means.
func better(x, y *entrant, share float64) bool {
	keepsX, keepsY := keeps(x, share), keeps(y, share)
	n, m := float64(len(x.runs)), float64(len(y.runs))
	switch {
	case keepsX != keepsY:
		return keepsX
	case keepsX:
		return x.cost()/n < y.cost()/m
	}
	return x.inTime()/n > y.inTime()/m
}

// tuned is a peer with its main setting chosen for a share, and whether it kept that share on the seeds it was chosen
// on.
type tuned struct {
	peer  contest.Contender
	share float64
	kept  bool
}

// tune chooses the main setting of each peer for each share, on the design seeds. A peer without one is what it is.
func (s *score) tune(e contest.Event, shares []float64) ([]tuned, error) {
	found := make([][]tuned, len(s.peers))
	err := each(len(s.peers), func(i int) error {
		field := []contest.Contender{s.peers[i]}
		if c := s.peers[i]; len(c.Sweep) > 0 {
			field = nil
			for _, v := range c.Sweep {
				field = append(field, c.With(v))
			}
		}
		winners, err := s.race(e, field, s.design, shares)
		for k, w := range winners {
			found[i] = append(found[i], tuned{peer: w.contender, share: shares[k], kept: keeps(w, shares[k])})
		}
		return err
	})
	return slices.Concat(found...), err
}
