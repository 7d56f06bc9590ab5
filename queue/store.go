package queue

// store keeps what the state machine wants kept. Only the writer goroutine
// calls it.
type store interface {
	// Commit makes all operations durable, or none. It returns ErrStorageFull
	// when there is no room and ErrStorageBusy when someone else holds the file
	// (then a later Commit may succeed), and any other error when it is no longer known what was written.
	Commit(ops []op) error
	// Load calls begin with what is held besides messages, then visit for every
	// message in the order of sequences. An error of either ends it and is returned.
	Load(begin func(saved) error, visit func(row, label) error) error
	// Close releases the store.
	Close() error
}

// contents reads message contents. It is safe for concurrent use.
type contents interface {
	// Record returns the content of a message, or nil if there is none.
	Record(seq uint64) (*record, error)
}

// saved is what a store holds besides messages.
type saved struct {
	queues []queueRow
	dedup  []dedupRow
	moves  []moveRow
	secret []byte // keys the receipt handles
	epoch  uint64 // counts the openings of the store, this one included
}

// queueRow is what the store keeps of a queue.
type queueRow struct {
	id         uint32
	name       string
	attributes map[string]string
	tags       map[string]string
	created    int64
	modified   int64
	// floor makes purging and deleting a queue one small write: rows of the
	// queue up to this sequence are dead and are cleaned up later.
	floor uint64
}

type opKind uint8

const (
	opInsert    opKind = iota + 1 // row and record
	opUpdate                      // row
	opMove                        // seq becomes row.seq, with row and source
	opRemove                      // seq
	opPutQueue                    // queue
	opDropQueue                   // queue.id, its moves too
	opPutDedup                    // dedup
	opDropDedup                   // dedup: queue and key, if seq is the same
	opPutMove                     // move
	opDropMove                    // move.id
)

// op is one change of the store.
type op struct {
	kind   opKind
	seq    uint64
	row    row
	source string
	record *record
	queue  *queueRow
	dedup  *dedupRow
	move   *moveRow
}
