package machine

// Store keeps the operations of the state machine. Only the writer calls it.
type Store interface {
	// Commit makes all operations durable, or none. After ErrStorageFull (no room) and ErrStorageBusy (another
	// program has locked the file) nothing was written and a later Commit may succeed. After any other error it is
	// unknown what was written.
	Commit(ops []Op) error
	// Load calls begin with everything but messages, then visit for every message in the order of sequences. An error
	// of either stops it and is returned.
	Load(begin func(Saved) error, visit func(Row, Label) error) error
	// Close releases the store.
	Close() error
}

// Contents reads message contents. It is safe for concurrent use.
type Contents interface {
	// Record returns the content of a message, or nil if there is none.
	Record(seq uint64) (*Record, error)
}

// Saved is the content of a store besides messages.
type Saved struct {
	Queues []QueueRow
	Dedup  []DedupRow
	Moves  []MoveRow
	Secret []byte // the key of the receipt handles
	Epoch  uint64 // number of times the store was opened, this one included
}

// QueueRow is a queue as the store keeps it. Times are Unix milliseconds.
type QueueRow struct {
	ID         uint32
	Name       string
	Attributes map[string]string
	Tags       map[string]string
	Created    int64
	Modified   int64
	// Floor makes purging a queue one small write: its rows up to this sequence are dead and are removed later.
	Floor uint64
}

// OpKind is the kind of an operation.
type OpKind uint8

// The kinds of operations, with the fields of an Op that each uses.
const (
	OpInsert    OpKind = iota + 1 // row and record
	OpUpdate                      // row
	OpMove                        // seq becomes row.seq, with row and source
	OpRemove                      // seq
	OpPutQueue                    // queue
	OpDropQueue                   // queue.id, its moves too
	OpPutDedup                    // dedup
	OpDropDedup                   // dedup: queue and key, if seq is the same
	OpPutMove                     // move
	OpDropMove                    // move.id
)

// Op is one change of the store.
type Op struct {
	Kind   OpKind
	Seq    uint64
	Row    Row
	Source string
	Record *Record
	Queue  *QueueRow
	Dedup  *DedupRow
	Move   *MoveRow
}
