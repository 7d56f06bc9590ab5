package oplog

import (
	"fmt"

	"github.com/muster-scale/muster/queue/internal/machine"
)

// ReadOlder is Read for logs of schema version 2. Their frames have no seed, and their messages no
// checksums, which it adds.
func ReadOlder(content []byte, generation uint64) (ops []machine.Op, err error) {
	at, number := int64(0), uint32(0)
	for {
		f, ok := frameAt(content, at, 0)
		if !ok || f.Generation != generation || f.Number != number {
			break
		}
		r := opReader{left: f.Payload, older: true}
		if ops, err = r.all(ops); err != nil {
			return nil, fmt.Errorf("frame %d at byte %d: %w", number, at, err)
		}
		number++
		at = f.end()
	}
	for f := range FramesIn(content, 0) {
		if f.Generation == generation && f.Number > number {
			return nil, fmt.Errorf("frame %d, which begins at byte %d, cannot be read, but frame %d can", number, at,
				f.Number)
		}
	}
	for i := range ops {
		if ops[i].Kind == machine.OpInsert {
			ops[i].Record.Sum = ops[i].Record.Checksum()
		}
	}
	return ops, nil
}
