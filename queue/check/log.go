// The log: which of its frames follow the tables, and what is missing between them.

package check

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/muster-scale/muster/queue/internal/machine"
	"github.com/muster-scale/muster/queue/internal/storage/oplog"
)

// readLog reads the frames that follow the tables, and those of later generations, which show that the
// tables are too old.
func (x *examination) readLog() {
	if x.log == nil {
		if x.placed && x.wantLog > 0 {
			x.find(logFileName, "it is missing, and with it all that was acknowledged after transaction %d of the "+
				"tables", x.at.Commit)
			x.logGaps = append(x.logGaps, Gap{Why: logFileName})
		}
		return
	}
	// The seed of the frames is the identity of the file. If the tables cannot say it, the mark may.
	identity := x.at.Identity
	if !x.placed {
		identity = x.marked.Identity
	}
	frames := x.framesAfter(identity)
	x.replay(frames)
	if x.placed && x.wantLog > 0 && x.wantLog != int64(len(x.log)) {
		x.find(logFileName, "it was made with %d bytes, and has %d", x.wantLog, len(x.log))
		if len(frames) == 0 || len(frames[len(frames)-1].Payload) > 0 { // the final empty frame is missing
			x.logGaps = append(x.logGaps, Gap{From: x.pending.Highest(), Why: "the end of " + logFileName})
		}
	}
}

// framesAfter returns the frames that follow the present or a later transaction of the tables, in the
// order of writing. If the position of the tables is unknown, all frames of this file count.
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

// replay adds the operations of frames to pending, and notes the gaps between them.
func (x *examination) replay(frames []oplog.Frame) {
	generation, next := x.at.Commit, uint32(0)
	for _, f := range frames {
		ops, err := oplog.ReadOps(f.Payload, nil)
		if f.Generation != generation {
			if x.placed {
				x.find(logFileName, "its frames follow transaction %d, and the tables are at %d", f.Generation,
					generation)
				// Operations that did not fit into the log were only in that transaction.
				x.logGaps = append(x.logGaps,
					Gap{From: x.pending.Highest(), To: firstSent(ops),
						Why: fmt.Sprintf("transaction %d", f.Generation)})
			}
			generation, next = f.Generation, 0
		}
		// Undecodable, or written twice. The next frame shows whether anything is missing.
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
	// Inserts of the log are in no table and need no lookup.
	for _, p := range x.pending.Rows {
		if p.Change != machine.OpInsert {
			x.changed[p.Origin] = p
		}
	}
}

// rangeOf returns a text for numbered things, such as "frame 3" or "frames 3 to 5".
func rangeOf(noun string, from, to uint64) string {
	if from == to {
		return fmt.Sprintf("%s %d", noun, from)
	}
	return fmt.Sprintf("%ss %d to %d", noun, from, to)
}

// firstSent returns the sequence before that of the first inserted message, or 0 if there is none: the
// end of a gap before ops.
func firstSent(ops []machine.Op) uint64 {
	for i := range ops {
		if ops[i].Kind == machine.OpInsert {
			return ops[i].Row.Seq - 1
		}
	}
	return 0
}
