package machine

// Store keeps what the state machine wants kept. Only the writer goroutine
// calls it.
type Store interface {
	// Commit makes all operations durable, or none. It returns ErrStorageFull
	// when there is no room and ErrStorageBusy when someone else holds the file
	// (then a later Commit may succeed), and any other error when it is no longer known what was written.
	Commit(ops []Op) error
	// Load calls begin with what is held besides messages, then visit for every
	// message in the order of sequences. An error of either ends it and is returned.
	Load(begin func(Saved) error, visit func(Row, Label) error) error
	// Close releases the store.
	Close() error
}

// Contents reads message contents. It is safe for concurrent use.
type Contents interface {
	// Record returns the content of a message, or nil if there is none.
	Record(seq uint64) (*Record, error)
}

// Saved is what a store holds besides messages.
type Saved struct {
	Queues []QueueRow
	Dedup  []DedupRow
	Moves  []MoveRow
	Secret []byte // keys the receipt handles
	Epoch  uint64 // counts the openings of the store, this one included
}

// QueueRow is what the store keeps of a queue.
type QueueRow struct {
	ID         uint32
	Name       string
	Attributes map[string]string
	Tags       map[string]string
	Created    int64
	Modified   int64
	// Floor makes purging and deleting a queue one small write: rows of the
	// queue up to this sequence are dead and are cleaned up later.
	Floor uint64
}

// OpKind says what an operation does.
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
