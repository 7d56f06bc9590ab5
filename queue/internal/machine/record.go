package machine

// Record is the content of a message, which the state machine never looks at.
type Record struct {
	ID         [16]byte
	Sum        uint32 // of what it was sent with, see checksum.go; 0 is none
	Group      string
	Dedup      string
	Source     string // the queue it was dead-lettered from
	Attributes []byte // encoded, see content.go of package queue
	Digest     [16]byte
	Body       string
}

// RecordOverhead is what a record costs in memory besides its texts, roughly.
const RecordOverhead = 160

// Size is what r costs in memory, roughly, in bytes.
func (r *Record) Size() int64 {
	return RecordOverhead + int64(len(r.Body)+len(r.Attributes)+len(r.Group)+len(r.Dedup)+len(r.Source))
}
