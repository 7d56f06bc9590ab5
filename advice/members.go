package advice

import (
	"fmt"
	"math"

	"github.com/muster-scale/muster/internal/render"
)

const (
	// CPULow and CPUHigh are shares of a member's cores that it uses with all slots busy: below CPULow it is too large
	// or has too few slots, above CPUHigh it is too small. In between it fits.
	CPULow, CPUHigh = 0.4, 0.9
	// CPUGoal is the share that an advised number of slots aims at: the value from which AWS's published examples of
	// target tracking start, which leaves room for work that varies.
	CPUGoal = 0.7
	// MemoryHigh is the largest share of a member's memory that its calls may take together at their peak.
	MemoryHigh = 0.8
	// mostSlotsTimes bounds how far one advice raises the slots. What limits the work beyond the processor, such as a
	// database, is not measured: smaller steps show it.
	mostSlotsTimes = 4
	// maxSlots bounds the slots of a worker.
	maxSlots = 1000
	// measuredWall is the least time of measured calls, in seconds.
	measuredWall = 60
)

// slotsOff is by how much the slots that workers report may differ from the stated ones, as a share.
const slotsOff = 0.1

// reported returns how many calls the workers of a member make at once by their reports; 0 if unknown.
func reported(s Stated, m Measured) float64 { return m.SlotsPerMember / float64(s.Batch) }

// differ tells whether the workers of members elsewhere report clearly other slots than stated.
func differ(s Stated, m Measured) bool {
	return !s.Local && m.SlotsPerMember > 0 && math.Abs(reported(s, m)-float64(s.Slots)) > slotsOff*float64(s.Slots)
}

// slots compares the stated slots with those that workers report. Members that boot count with the stated number, so a
// wrong one launches too many or too few.
func slots(s Stated, m Measured) (*Advice, *Unjudged) {
	n := int(math.Round(reported(s, m)))
	switch {
	case s.Local:
		return nil, nil // the fleet starts its workers with the stated slots
	case m.Unreported || n < 1:
		return unjudged("workers that report, and members in service", "no worker reported how many slots it has")
	case !differ(s, m) || n == s.Slots:
		return nil, nil
	}
	minutes := max(1, int64(m.SlotSeconds/m.SlotsPerMember/60))
	return whole(Slots, s.Slots, min(n, maxSlots), "workers report %s slots on a member, and members that boot count "+
		"with %d", render.Number(m.SlotsPerMember), s.Slots*s.Batch).resting(m, minutes, smallestSamples), nil
}

// full returns the share of a member's cores that it uses with all slots busy, and what one call uses, in cores.
func full(s Stated, m Measured) (share, perCall float64) {
	u := m.Usage
	perCall = u.CPUSeconds / u.WallSeconds
	return perCall * float64(s.Slots) / u.Cores, perCall
}

// unmeasured returns why the usage says nothing; nil if it says enough.
func unmeasured(s Stated, m Measured) *Unjudged {
	u := m.Usage
	const needed = "workers that report usage: muster work with a command or JSON lines on Linux"
	switch {
	case m.Unreported || !s.Reported:
		return &Unjudged{Why: "the workers do not report", Needed: needed}
	case u.Calls == 0:
		return &Unjudged{Why: "no processor time was measured", Needed: needed}
	case differ(s, m):
		return &Unjudged{Why: "the stated slots are not those that workers report",
			Needed: "the reported number in workers: {slots: ...}"}
	case u.Calls < smallestSamples || u.WallSeconds < measuredWall:
		return &Unjudged{
			Why:    fmt.Sprintf("only %d calls of %s in all were measured", u.Calls, render.Seconds(u.WallSeconds)),
			Needed: fmt.Sprintf("%d calls of %d s in all, so a longer window", smallestSamples, measuredWall),
		}
	case u.Cores <= 0:
		return &Unjudged{Why: "the number of cores of a member is unknown", Needed: needed}
	}
	return nil
}

// processorTime compares the processor time of busy slots with the cores of a member.
func processorTime(s Stated, m Measured) (*Advice, *Unjudged) {
	if u := unmeasured(s, m); u != nil {
		if m.CPUPoints > 0 && !s.Local && !differ(s, m) {
			return memberCPU(s, m)
		}
		if m.CPUUnknown != "" {
			u.Why += "; " + m.CPUUnknown
		}
		return nil, u
	}
	used, perCall := full(s, m)
	cores := m.Usage.Cores
	figures := fmt.Sprintf("a call uses %s cores, so a member with %s busy uses %s of its %s (%s of the slots were "+
		"busy "+
		"on average)", render.Number(perCall), render.Plural(s.Slots, "slot"), share(used), cores1(cores),
		share(m.Utilization))
	if s.Local {
		return sharedCores(s, m, perCall)
	}
	switch {
	case used < CPULow:
		if n := moreSlots(s, m, perCall); n > s.Slots {
			return whole(Slots, s.Slots, n, "members are too large or have too few slots: %s; the work waits, it does "+
				"not compute", figures).resting(m, m.Usage.Calls, smallestSamples), nil
		}
		needs := math.Max(used*cores/CPUGoal, 0.25)
		return (&Advice{Key: Members, Old: cores1(cores), New: "about " + cores1(math.Ceil(needs*4)/4),
			Why: "members are too large: " + figures + "; memory leaves no room for more slots"}).
			resting(m, m.Usage.Calls, smallestSamples), nil
	case used > CPUHigh:
		return tooSmall(s, m, perCall, figures)
	}
	return nil, nil
}

const (
	// fewPoints is how many readings of the members' CPU an advice needs: an hour of them.
	fewPoints = 12
	// leastBusy is the smallest share of busy slots from which the CPU with all slots busy can be told.
	leastBusy = 0.1
)

// memberCPU judges by the CPU of whole members, where the work itself was not measured. Members use it in proportion to
// their busy slots, so with all slots busy it is
//
//	CPU / share of busy slots
//
// which is too high by what a member uses without any work.
func memberCPU(s Stated, m Measured) (*Advice, *Unjudged) {
	switch {
	case m.CPUPoints < fewPoints:
		return unjudged("an hour of datapoints", "%s of CPUUtilization", render.Plural(m.CPUPoints, "datapoint"))
	case m.SlotSeconds == 0 || m.Utilization < leastBusy:
		return unjudged("a window in which the members work", "%s of the slots were busy, and CPUUtilization was %s",
			share(m.Utilization), share(m.CPU))
	}
	used := math.Min(m.CPU/m.Utilization, 1)
	figures := fmt.Sprintf("CPUUtilization is %s while %s of the slots are busy, so with all slots busy it is about %s",
		share(m.CPU), share(m.Utilization), share(used))
	switch {
	case used < CPULow:
		n := min(maxSlots/s.Batch, mostSlotsTimes*s.Slots)
		if used > 0 {
			n = min(n, int(CPUGoal/used*float64(s.Slots)))
		}
		if n <= s.Slots {
			return nil, nil
		}
		return whole(Slots, s.Slots, n, "members are too large or have too few slots: %s; their memory is unknown here",
			figures).resting(m, int64(m.CPUPoints), fewPoints), nil
	case used > CPUHigh:
		return (&Advice{Key: Members, Old: "the present size", New: "more or faster cores",
			Why: "members are too small: " + figures + "; larger ones finish each message sooner, and no policy " +
				"needs " +
				"to change"}).resting(m, int64(m.CPUPoints), fewPoints), nil
	}
	return nil, nil
}

// tooSmall advises fewer slots where they exceed what the cores can serve, and larger members where one slot does.
func tooSmall(s Stated, m Measured, perCall float64, figures string) (*Advice, *Unjudged) {
	n := max(1, int(m.Usage.Cores*CPUHigh/perCall))
	if n < s.Slots && n*s.Batch*s.Limits.Max >= m.PeakBusy {
		return whole(Slots, s.Slots, n, "members are too small for their slots: %s; calls wait for each other's "+
			"processor time", figures).resting(m, m.Usage.Calls, smallestSamples), nil
	}
	return (&Advice{Key: Members, Old: cores1(m.Usage.Cores), New: "more or faster cores",
		Why: "members are too small: " + figures + "; larger ones finish each message sooner, and no policy needs to " +
			"change"}).resting(m, m.Usage.Calls, smallestSamples), nil
}

// moreSlots returns how many slots a member has processor time and memory for.
func moreSlots(s Stated, m Measured, perCall float64) int {
	most := float64(min(maxSlots/s.Batch, mostSlotsTimes*s.Slots))
	if perCall > 0 {
		most = math.Min(most, math.Floor(CPUGoal*m.Usage.Cores/perCall))
	}
	if u := m.Usage; u.PeakBytes > 0 && u.MemoryBytes > 0 {
		most = math.Min(most, math.Floor(MemoryHigh*float64(u.MemoryBytes)/float64(u.PeakBytes)))
	}
	return int(most)
}

// coresFor returns for how many members with all slots busy the cores of one machine are enough, at least 1; known is
// false if the work was not measured.
func coresFor(s Stated, m Measured) (room int, known bool) {
	if unmeasured(s, m) != nil || m.Usage.CPUSeconds <= 0 {
		return 0, false
	}
	_, perCall := full(s, m)
	return int(math.Max(1, math.Min(mostMax, m.Usage.Cores/(perCall*float64(s.Slots))))), true
}

// sharedCores judges processes of one machine: all members together have its cores.
func sharedCores(s Stated, m Measured, perCall float64) (*Advice, *Unjudged) {
	if perCall <= 0 {
		return nil, nil
	}
	room, _ := coresFor(s, m)
	if s.Limits.Max > room && perCall*float64(m.PeakBusy) > CPUHigh*m.Usage.Cores && room >= max(m.PeakSize,
		s.Limits.Min) {
		return whole(Max, s.Limits.Max, room, "a call uses %s cores and all workers share %s: more than %s only make "+
			"each other slower", render.Number(perCall), cores1(m.Usage.Cores), render.Plural(room, "worker")).
			resting(m, m.Usage.Calls, smallestSamples), nil
	}
	return nil, nil
}

// memory compares the peaks of all slots with the memory of a member.
func memory(s Stated, m Measured) (*Advice, *Unjudged) {
	if u := unmeasured(s, m); u != nil {
		return nil, u
	}
	u := m.Usage
	if u.PeakBytes == 0 || u.MemoryBytes == 0 {
		return unjudged("workers on Linux", "the memory of the work or of the member is unknown")
	}
	workers := 1
	if s.Local {
		workers = max(1, m.PeakSize)
	}
	used := float64(u.PeakBytes) * float64(s.Slots*workers) / float64(u.MemoryBytes)
	if used <= 1 {
		return nil, nil
	}
	n := int(MemoryHigh * float64(u.MemoryBytes) / float64(u.PeakBytes) / float64(workers))
	if n >= 1 && n < s.Slots && n*s.Batch*s.Limits.Max >= m.PeakBusy {
		return whole(Slots, s.Slots, n, "a call took up to %s of memory, so %s can take %s of the %s that there are",
			bytes(u.PeakBytes), render.Plural(s.Slots*workers, "slot"), share(used), bytes(u.MemoryBytes)).
			resting(m, u.Calls, smallestSamples), nil
	}
	return (&Advice{Key: Members, Old: bytes(u.MemoryBytes), New: "at least " +
		bytes(int64(float64(u.PeakBytes)*float64(s.Slots*workers)/MemoryHigh)), Why: fmt.Sprintf("a call took up to "+
		"%s "+
		"of memory, so %s can take %s of what there is", bytes(u.PeakBytes), render.Plural(s.Slots*workers, "slot"),
		share(used))}).resting(m, u.Calls, smallestSamples), nil
}

// cores1 writes a number of cores.
func cores1(n float64) string {
	if n == 1 {
		return "1 core"
	}
	return render.Number(n) + " cores"
}

// bytes writes an amount of memory.
func bytes(n int64) string {
	for _, unit := range []struct {
		size int64
		name string
	}{{1 << 30, "GiB"}, {1 << 20, "MiB"}, {1 << 10, "KiB"}} {
		if n >= unit.size {
			return render.Number(math.Round(float64(n)/float64(unit.size)*10)/10) + " " + unit.name
		}
	}
	return fmt.Sprintf("%d B", n)
}
