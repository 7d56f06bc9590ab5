package check

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/muster-scale/muster/queue/internal/machine"
	"github.com/muster-scale/muster/queue/internal/storage/oplog"
)

// readLog reads the frames that follow the tables, and those of later ones.
func (x *examination) readLog() {
	if x.log == nil {
		if x.placed && x.wantLog > 0 {
			x.find(logFileName, "it is missing, and with it all that was acknowledged after transaction %d of the "+
				"tables", x.at.Commit)
			x.logGaps = append(x.logGaps, Gap{Why: logFileName})
		}
		return
	}
	identity := x.at.Identity
	if !x.placed {
		identity = x.marked.Identity
	}
	frames := x.framesAfter(identity)
	x.replay(frames)
	if x.placed && x.wantLog > 0 && x.wantLog != int64(len(x.log)) {
		x.find(logFileName, "it was made with %d bytes, and has %d", x.wantLog, len(x.log))
		if len(frames) == 0 || len(frames[len(frames)-1].Payload) > 0 { // what ends the log is not there
			x.logGaps = append(x.logGaps, Gap{From: x.pending.Highest(), Why: "the end of " + logFileName})
		}
	}
}

// framesAfter returns the frames that follow the transaction of the tables, in their order.
func (x *examination) framesAfter(identity uint64) (frames []oplog.Frame) {
	for f := range oplog.FramesIn(x.log, oplog.SeedOf(identity)) {
		if !x.placed || f.Generation >= x.at.Commit {
			frames = append(frames, f)
		}
	}
	slices.SortStableFunc(frames, func(a, b oplog.Frame) int {
		return cmp.Or(cmp.Compare(a.Generation, b.Generation), cmp.Compare(a.Number, b.Number))
	})
	return frames
}

// replay adds what is in frames, and notes those that are missing between them.
func (x *examination) replay(frames []oplog.Frame) {
	generation, next := x.at.Commit, uint32(0)
	for _, f := range frames {
		ops, err := oplog.ReadOps(f.Payload, nil)
		if f.Generation != generation {
			if x.placed {
				x.find(logFileName, "its frames follow transaction %d, and the tables are at %d", f.Generation,
					generation)
				// What did not fit into the log is in the transaction itself.
				x.logGaps = append(x.logGaps,
					Gap{From: x.pending.Highest(), To: firstSent(ops),
						Why: fmt.Sprintf("transaction %d", f.Generation)})
			}
			generation, next = f.Generation, 0
		}
		if err != nil || f.Number < next {
			continue
		}
		if f.Number > next {
			lost := rangeOf("frame", uint64(next), uint64(f.Number-1))
			x.find(logFileName, "before byte %d %s cannot be read; what was sent, deleted and received in that part "+
				"of the log is lost", f.At, lost)
			x.logGaps = append(x.logGaps, Gap{From: x.pending.Highest(), To: firstSent(ops), Why: lost + " of " +
				logFileName})
		}
		for i := range ops {
			x.pending.Add(&ops[i])
		}
		next = f.Number + 1
	}
	for _, p := range x.pending.Rows {
		if p.Change != machine.OpInsert {
			x.changed[p.Origin] = p
		}
	}
}

// rangeOf names numbered things.
func rangeOf(noun string, from, to uint64) string {
	if from == to {
		return fmt.Sprintf("%s %d", noun, from)
	}
	return fmt.Sprintf("%ss %d to %d", noun, from, to)
}

// firstSent is the number before that of the first message that is sent, or 0.
func firstSent(ops []machine.Op) uint64 {
	for i := range ops {
		if ops[i].Kind == machine.OpInsert {
			return ops[i].Row.Seq - 1
		}
	}
	return 0
}
