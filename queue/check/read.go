// The tables, read page by page. Order matters: the mark says what must be there, the position in the
// tables what they are, the log what follows. Then the queues are read, and last the messages, which
// need all of that to be judged.

package check

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/muster-scale/muster/internal/sqlitefile"
	"github.com/muster-scale/muster/queue/internal/machine"
	"github.com/muster-scale/muster/queue/internal/rules"
	"github.com/muster-scale/muster/queue/internal/storage"
	"github.com/muster-scale/muster/queue/internal/storage/oplog"
)

// examination is the state of one examination. Numbers and texts of the files enter it only after their
// checksum matched, or with a note that they may be wrong.
type examination struct {
	*files
	result *Result
	image  *sqlitefile.Image
	torn   bool // the write-ahead log is damaged: pages may be of different transactions

	marked  sqlitefile.Position // the position in the mark; Commit is 0 if unknown
	at      sqlitefile.Position // the position in the tables
	placed  bool                // at is known
	wantLog int64               // size of the log according to the tables, in bytes
	epoch   uint64
	secret  []byte
	dead    map[uint64]bool // dead rows, see storage.DeadKey
	queues  map[uint32]*machine.QueueRow
	unsure  bool // queues may be missing
	dedup   []machine.DedupRow
	moves   []machine.MoveRow

	pending oplog.Pending               // changes of the log
	changed map[uint64]oplog.PendingRow // changes of rows in the tables, by their sequence there
	logGaps []Gap                       // gaps in the log; From is the last sequence before, or 0
	bad     map[uint32][]uint32         // damaged pages, by root page of their table

	keep    func(machine.Row, *machine.Record) error // receives the intact messages; may be nil
	failed  error                                    // the error of keep
	whole   uint64                                   // number of intact rows
	spoilt  uint64                                   // number of rows with damaged content
	found   map[uint64]bool                          // sequences of rows seen, where one may be seen twice
	counted map[uint64]bool                          // sequences of messages counted in torn tables
	gaps    []Gap
	waiting []int       // indexes of gaps whose Before is still unknown
	last    machine.Row // the last intact row, by sequence
	highest uint64

	fifo      map[uint32]bool // ids of queues with messages of FIFO queues
	unclaimed map[uint32]int  // number of messages by unknown queue
}

// newExamination returns an examination of f. Lists of the result are empty rather than nil, so that
// JSON shows [].
func newExamination(f *files) *examination {
	return &examination{
		files: f, result: &Result{Dir: f.dir, Findings: []Finding{}, Damaged: []Message{}, Missing: []Gap{}},
		queues: map[uint32]*machine.QueueRow{}, pending: oplog.NewPending(), changed: map[uint64]oplog.PendingRow{},
		bad: map[uint32][]uint32{}, found: map[uint64]bool{}, counted: map[uint64]bool{},
		fifo: map[uint32]bool{}, unclaimed: map[uint32]int{},
	}
}

// find adds a finding.
func (x *examination) find(file, format string, args ...any) {
	if len(x.result.Findings) < mostNamed {
		x.result.Findings = append(x.result.Findings, Finding{file, fmt.Sprintf(format, args...)})
	}
}

// run reads everything. keep, if not nil, receives each intact message of the tables whose queue
// exists.
func (x *examination) run(ctx context.Context, keep func(machine.Row, *machine.Record) error) error {
	x.keep = keep
	x.readMark()
	x.choose()
	x.readLog()
	x.readSmall()
	x.image.Tree(storage.RootOfMessages, func(n sqlitefile.Node) { x.messages(ctx, n) })
	switch complete := x.image.Free() || x.tables == nil; {
	case complete:
	case x.torn || len(x.gaps) > 0:
		x.find(tablesName, "the list of unused pages is damaged: messages that were deleted may be back")
	default:
		x.find(tablesName, "the list of unused pages is damaged: nothing is missing, but nothing can be stored or "+
			"removed any more")
	}
	// Pages without a tree may hold rows that a damaged inner page led to. Without a gap they hold only
	// deleted messages.
	if len(x.gaps) > 0 || x.torn {
		x.image.Strays(func(n sqlitefile.Node) { x.strays(ctx, n) })
	}
	x.image.Rest(func(n sqlitefile.Node) { x.rest(ctx, n) })
	x.conclude()
	if x.failed != nil {
		return x.failed
	}
	return ctx.Err()
}

// readMark reads the position that the tables must have reached.
func (x *examination) readMark() {
	marked, err := sqlitefile.ParseMark(x.mark)
	switch {
	case x.mark == nil && x.tables == nil && x.wal == nil && x.log == nil:
	case x.mark == nil:
		x.find(tableMark, "it is missing, so it is unknown whether the end of the tables is missing too")
	case err != nil || len(x.mark) != sqlitefile.MarkBytes:
		x.find(tableMark, "it is damaged, so it is unknown whether the end of the tables is missing")
	default:
		x.marked = marked
	}
}

// choose decides how much of the write-ahead log to apply. It starts with what SQLite would read. If
// that is less than the mark promises, it applies every frame that is intact, and the tables count as
// torn.
func (x *examination) choose() {
	x.image = x.files.image(false)
	x.readMeta()
	switch {
	case x.tables == nil && x.marked.Commit == 0 && x.wal == nil && x.log == nil:
		return // a directory without queues
	case x.tables == nil:
		x.find(tablesName, "it is missing, with at least %d messages", x.marked.Rows)
		x.torn = true
	case x.placed && x.marked.Identity != 0 && x.marked.Identity != x.at.Identity:
		x.find(tableMark, "it belongs to another file, so it is unknown whether the end of the tables is missing")
		x.marked = sqlitefile.Position{}
		return
	case x.placed && x.marked.Commit <= x.at.Commit:
		return
	}
	before := x.at
	x.image, x.torn = x.files.image(true), true
	x.readMeta()
	switch {
	case !x.placed:
		x.find(tablesName, "the position of the tables cannot be read")
	case x.at.Commit < x.marked.Commit:
		x.find(tableWAL, "it was lost or damaged: the tables are at transaction %d with %d messages, and transaction "+
			"%d with %d messages was acknowledged; "+
			"the changes of the transactions in between, also deletes and changes of queues, are lost except for the "+
			"messages found intact", x.at.Commit, x.at.Rows, x.marked.Commit, x.marked.Rows)
	default:
		x.find(tableWAL, "it is damaged after transaction %d; changes of the transactions up to %d, also deletes and "+
			"changes of queues, may be lost", before.Commit, x.at.Commit)
	}
}

// readMeta reads position, receipt key, epoch and dead rows. It may run twice, see choose, so it starts
// from nothing.
func (x *examination) readMeta() {
	x.placed, x.secret, x.epoch, x.dead = false, nil, 0, map[uint64]bool{}
	delete(x.bad, storage.RootOfMeta)
	x.image.Tree(storage.RootOfMeta, func(n sqlitefile.Node) {
		x.readNode(storage.RootOfMeta, n, func(r sqlitefile.Row) {
			if len(r.Values) != 2 || !r.Whole {
				return
			}
			switch value := r.Values[1].(type) {
			case []byte:
				x.readBytes(r.Values[0], value)
			case int64:
				if r.Values[0] == "epoch" {
					x.epoch = uint64(value)
				}
			}
		})
	})
}

// readBytes takes one value of the table meta.
func (x *examination) readBytes(key any, value []byte) {
	switch key {
	case "position":
		if at, bytes, err := storage.DecodePosition(value); err == nil {
			x.at, x.wantLog, x.placed = at, bytes, true
		}
	case "secret":
		if len(value) == storage.SecretBytes {
			x.secret = value
		}
	case storage.DeadKey:
		dead, _ := storage.DecodeDead(value) // the seal of the page vouches for the value
		for _, seq := range dead {
			x.dead[seq] = true
		}
	}
}

// readSmall reads all tables except the messages.
func (x *examination) readSmall() {
	if x.tables != nil {
		x.image.Tree(storage.RootOfSchema,
			func(n sqlitefile.Node) { x.readNode(storage.RootOfSchema, n, func(sqlitefile.Row) {}) })
	}
	if x.tables != nil && (x.secret == nil || x.epoch == 0) && (x.placed || x.torn) {
		x.find(tablesName, "the receipt key is damaged: all receipts given so far are void, and their messages "+
			"become visible again when their timeout ends")
	}
	x.image.Tree(storage.RootOfQueues, func(n sqlitefile.Node) {
		x.readNode(storage.RootOfQueues, n, x.readQueue)
	})
	x.unsure = x.torn || len(x.bad[storage.RootOfQueues]) > 0
	x.image.Tree(storage.RootOfNames,
		func(n sqlitefile.Node) { x.readNode(storage.RootOfNames, n, func(sqlitefile.Row) {}) })
	x.image.Tree(storage.RootOfDedup, func(n sqlitefile.Node) { x.readNode(storage.RootOfDedup, n, x.readDedup) })
	x.image.Tree(storage.RootOfMoves, func(n sqlitefile.Node) { x.readNode(storage.RootOfMoves, n, x.readMove) })
}

// readNode passes the rows of a page to read, and notes the page if it is damaged.
func (x *examination) readNode(root uint32, n sqlitefile.Node, read func(sqlitefile.Row)) {
	if !n.Whole || n.Blind {
		x.bad[root] = append(x.bad[root], n.Page)
	}
	for _, r := range n.Rows {
		read(r)
	}
}

// tellPages adds a finding for the damaged pages of each table, with the consequences.
func (x *examination) tellPages() {
	for root, what := range []string{
		storage.RootOfSchema: "describes the tables", storage.RootOfMeta: "holds the position of the tables",
		storage.RootOfQueues:   "holds the attributes of queues",
		storage.RootOfNames:    "is an index of queue names; nothing is lost",
		storage.RootOfMessages: "holds messages",
		storage.RootOfDedup: "holds deduplication ids: a message that is sent to a FIFO queue twice within five " +
			"minutes may be stored twice",
		storage.RootOfMoves: "holds moves between queues: running ones have ended",
	} {
		switch pages := x.bad[uint32(root)]; len(pages) {
		case 0:
		case 1:
			x.find(tablesName, "page %d is damaged, which %s", pages[0], what)
		default:
			more := ""
			if len(pages) > 10 {
				more = fmt.Sprintf(" and %d more", len(pages)-10)
			}
			x.find(tablesName, "pages %d%s are damaged; each %s", pages[:min(10, len(pages))], more, what)
		}
	}
	switch n := int(x.spoilt); {
	case n == 1:
		x.find(tablesName, "the content of a message is damaged")
	case n > 1:
		x.find(tablesName, "the contents of %d messages are damaged", n)
	}
}

// columns takes the values of a row in order. ok becomes false at a value of another type.
type columns struct {
	values []any
	ok     bool
}

// column returns the next value as a T; the zero value for NULL or another type.
func column[T any](c *columns) (v T) {
	if len(c.values) == 0 {
		c.ok = false
		return v
	}
	first := c.values[0]
	c.values = c.values[1:]
	if first == nil {
		return v
	}
	v, ok := first.(T)
	c.ok = c.ok && ok
	return v
}

// readQueue takes a row of the table queues. The first row of an id or a name wins: a second one comes
// from an older page. A row of a damaged page is used too, because a queue without attributes would
// lose more.
func (x *examination) readQueue(r sqlitefile.Row) {
	c := columns{r.Values, len(r.Values) == 7}
	column[any](&c) // the id, which is the key
	q := &machine.QueueRow{ID: uint32(r.Key), Name: column[string](&c)}
	attributes, tags := column[string](&c), column[string](&c)
	q.Created, q.Modified, q.Floor = column[int64](&c), column[int64](&c), uint64(column[int64](&c))
	if !c.ok || json.Unmarshal([]byte(attributes), &q.Attributes) != nil ||
		json.Unmarshal([]byte(tags), &q.Tags) != nil {
		return
	}
	if _, err := rules.ParseSettings(q.Attributes); err != nil || x.queues[q.ID] != nil {
		return
	}
	for _, other := range x.queues {
		if other.Name == q.Name {
			return
		}
	}
	if !r.Whole {
		q.Floor = 0
		x.find(tablesName, "the attributes of queue %q were read from a damaged page: check them; messages that "+
			"were purged recently may be back", q.Name)
	}
	x.queues[q.ID] = q
}

// readDedup takes a row of the table deduplication.
func (x *examination) readDedup(r sqlitefile.Row) {
	c := columns{r.Values, len(r.Values) == 5 && r.Whole}
	d := machine.DedupRow{Queue: uint32(column[int64](&c)), Key: column[string](&c), Seq: uint64(column[int64](&c))}
	copy(d.ID[:], column[[]byte](&c))
	if d.Expires = column[int64](&c); c.ok {
		x.dedup = append(x.dedup, d)
	}
}

// readMove takes a row of the table moves.
func (x *examination) readMove(r sqlitefile.Row) {
	c := columns{r.Values, len(r.Values) == 9 && r.Whole}
	column[any](&c)
	m := machine.MoveRow{ID: uint64(r.Key), Queue: uint32(column[int64](&c)), Destination: column[string](&c),
		Rate: column[int64](&c), Status: machine.MoveStatus(column[string](&c))}
	m.Failure, m.Started, m.Moved, m.ToMove = column[string](&c), column[int64](&c), column[int64](&c),
		column[int64](&c)
	if c.ok {
		x.moves = append(x.moves, m)
	}
}

// message decodes a row of the table messages. ok says that its numbers match their checksum. wrong
// says what is wrong with its content.
func message(r sqlitefile.Row) (_ machine.Row, _ *machine.Record, ok bool, wrong error) {
	c := columns{r.Values, len(r.Values) == 16}
	column[any](&c)
	m := machine.Row{Numbers: machine.Numbers{Seq: uint64(r.Key)}, Queue: uint32(column[int64](&c))}
	m.Sent, m.Visible, m.Received, m.First = column[int64](&c), column[int64](&c), column[int64](&c), column[int64](&c)
	m.Count, m.Carried = uint32(column[int64](&c)), uint32(column[int64](&c))
	sum, content := column[int64](&c), &machine.Record{Sum: uint32(column[int64](&c))}
	if sum != int64(m.Checksum()) {
		return m, nil, false, nil
	}
	copy(content.ID[:], column[[]byte](&c))
	content.Group, content.Dedup, content.Source = column[string](&c), column[string](&c), column[string](&c)
	if attributes := column[string](&c); attributes != "" {
		content.Attributes = []byte(attributes)
	}
	content.Body = column[string](&c)
	if !c.ok {
		return m, content, true, machine.ErrDamagedContent
	}
	return m, content, true, content.Verify()
}

// messages takes the rows of a page to which an intact tree leads. A damaged page is a gap between its
// neighbours.
func (x *examination) messages(ctx context.Context, n sqlitefile.Node) {
	before := len(x.bad[storage.RootOfMessages])
	x.readNode(storage.RootOfMessages, n, func(r sqlitefile.Row) {
		if r.Key > n.After && r.Key <= n.Until {
			x.take(ctx, r, true)
		}
	})
	if len(x.bad[storage.RootOfMessages]) > before {
		x.gap(Gap{From: after(n.After), To: until(n.Until), After: sentAt(x.last), Why: "damaged pages of " +
			tablesName})
	}
}

// after returns the first sequence of a page, from the key before it.
func after(key int64) uint64 {
	if key == math.MinInt64 {
		return 0
	}
	return uint64(key) + 1
}

// until returns the last sequence of a page; 0 for the last page.
func until(key int64) uint64 {
	if key == math.MaxInt64 {
		return 0
	}
	return uint64(key)
}

// sentAt returns the time of sending, or the zero time.
func sentAt(r machine.Row) time.Time { return rules.UTC(rules.FromMillis(r.Sent)) }

// gap notes a range in which messages may be missing. Adjacent ranges with the same cause become one.
func (x *examination) gap(g Gap) {
	if n := len(x.gaps); n > 0 && x.gaps[n-1].To > 0 && x.gaps[n-1].To+1 == g.From && x.gaps[n-1].Why == g.Why {
		x.gaps[n-1].To = g.To
		return
	}
	x.waiting = append(x.waiting, len(x.gaps))
	x.gaps = append(x.gaps, g)
}

// take counts a row, and passes it to keep if it is an intact message. ordered says that rows come by
// sequence.
func (x *examination) take(ctx context.Context, r sqlitefile.Row, ordered bool) {
	m, content, ok, wrong := message(r)
	if x.failed != nil || ctx.Err() != nil || x.found[m.Seq] {
		return
	}
	if !ok {
		if r.Whole {
			x.find(tablesName, "the row with the sequence number %d does not match its checksum", m.Seq)
			x.gap(Gap{From: m.Seq, To: m.Seq, Why: "a row of " + tablesName})
		}
		return
	}
	if x.torn || !ordered {
		x.found[m.Seq] = true
	}
	if ordered {
		for _, i := range x.waiting {
			x.gaps[i].Before = sentAt(m)
		}
		x.waiting, x.last = x.waiting[:0], m
	}
	x.highest = max(x.highest, m.Seq)
	// The row is dead. Or the log has the message too: these tables are of a later time than the log
	// follows.
	if p, logged := x.pending.Rows[m.Seq]; x.dead[m.Seq] || logged && p.Change == machine.OpInsert {
		x.whole++
		return
	}
	if wrong != nil || !r.Whole && content.Sum == 0 {
		x.spoilt++
		x.name(m, content)
		return
	}
	x.whole++
	x.fifo[m.Queue] = x.fifo[m.Queue] || content.Dedup != ""
	if !x.alive(m) {
		return
	}
	if x.stays(m) {
		x.result.Messages++
		if x.torn {
			x.counted[m.Seq] = true
		}
	}
	if x.keep != nil {
		x.failed = x.keep(m, content)
	}
}

// alive says whether a row belongs to a queue that exists, and was not purged. If queues may be
// missing, an unknown queue counts as existing.
func (x *examination) alive(m machine.Row) bool {
	q := x.queues[m.Queue]
	if q == nil && x.unsure {
		x.unclaimed[m.Queue]++
		return true
	}
	return q != nil && m.Seq > q.Floor
}

// stays says whether a row of the tables is still a message after the changes of the log.
func (x *examination) stays(m machine.Row) bool {
	p, changed := x.changed[m.Seq]
	switch {
	case !changed || p.Change == machine.OpUpdate:
		return true
	case p.Change == machine.OpMove:
		return x.alive(p.Row)
	}
	return false
}

// name lists a message whose content is damaged, unless it was deleted since.
func (x *examination) name(m machine.Row, content *machine.Record) {
	if !x.alive(m) || !x.stays(m) || len(x.result.Damaged) >= mostNamed {
		return
	}
	if p := x.changed[m.Seq]; p.Change == machine.OpMove {
		m = p.Row
	}
	found := Message{Sequence: m.Seq, Sent: sentAt(m), ID: rules.FormatUUID(content.ID), Queue: x.recovered(m.Queue)}
	if q := x.queues[m.Queue]; q != nil {
		found.Queue = q.Name
	}
	x.result.Damaged = append(x.result.Damaged, found)
}

// strays takes rows of pages to which no tree leads, if they can fill a gap.
func (x *examination) strays(ctx context.Context, n sqlitefile.Node) {
	for _, r := range n.Rows {
		if x.torn || slices.ContainsFunc(x.gaps, func(g Gap) bool { return g.Holds(uint64(r.Key)) }) {
			x.take(ctx, r, false)
		}
	}
}

// rest takes intact rows of damaged pages. The number of columns tells messages from queues.
func (x *examination) rest(ctx context.Context, n sqlitefile.Node) {
	for _, r := range n.Rows {
		switch len(r.Values) {
		case 16:
			if r.Key > n.After && r.Key <= n.Until {
				x.take(ctx, r, false)
			}
		case 7:
			x.readQueue(r)
		}
	}
}

// Holds says whether a sequence number is in the gap.
func (g *Gap) Holds(seq uint64) bool { return seq >= g.From && (g.To == 0 || seq <= g.To) }

// conclude compares what was found with what must be there, and completes the result.
func (x *examination) conclude() {
	for _, g := range x.logGaps {
		x.gapInLog(g)
	}
	expected := x.at.Rows
	if x.torn {
		expected = max(expected, x.marked.Rows)
	}
	x.tellPages()
	have := x.whole + x.spoilt
	switch {
	case x.torn && (!x.placed || x.at.Commit < x.marked.Commit || have != expected):
		if logged := have + x.onlyInLog(); expected > logged {
			x.result.Lost = int(expected - logged)
		}
		x.gaps = append(x.gaps, Gap{Why: tableWAL}) // pages may be of any earlier transaction
	case expected > have:
		x.result.Lost = int(expected - have)
		if len(x.gaps) == 0 {
			x.find(tablesName, "the tables hold %d messages, and %d were acknowledged", have, expected)
			x.gaps = append(x.gaps, Gap{Why: "rows of " + tablesName})
		}
	}
	for _, p := range x.pending.Rows {
		switch {
		case p.Change == machine.OpInsert && x.alive(p.Row):
			x.result.Messages++
		case p.Change == machine.OpMove && x.movedTwice(p) && x.counted[p.Origin] && x.counted[p.Row.Seq]:
			x.result.Messages--
		}
	}
	x.result.Missing = append(x.result.Missing, x.gaps[:min(len(x.gaps), mostNamed)]...)
	for id, n := range x.unclaimed {
		x.find(tablesName, "the attributes of a queue with %d messages are lost; a repair puts these into the queue %s",
			n, x.recovered(id))
	}
}

// onlyInLog counts the messages of the log that the tables do not hold. Tables of a later time may have
// held them.
func (x *examination) onlyInLog() (n uint64) {
	for seq, p := range x.pending.Rows {
		if p.Change == machine.OpInsert && !x.found[seq] {
			n++
		}
	}
	return n
}

// gapInLog adds a gap of the log. It begins after the last known message. Torn tables may hold later
// messages than the log; then it begins where the log says.
func (x *examination) gapInLog(g Gap) {
	g.After = sentAt(x.last)
	before := g.From
	g.From = max(before, x.highest) + 1
	if g.To != 0 && g.From > g.To {
		g.From = before + 1
	}
	if g.To == 0 || g.From <= g.To { // otherwise no message was sent in it
		x.gaps = append(x.gaps, g)
	}
}

// movedTwice says that the tables already hold a message where the log moves it to, since they are of a
// later time than the log follows.
func (x *examination) movedTwice(p oplog.PendingRow) bool {
	return p.Origin != p.Row.Seq && x.found[p.Row.Seq]
}

// recovered returns the name of the queue for the messages of a queue whose name is lost.
func (x *examination) recovered(id uint32) string {
	name := fmt.Sprintf("recovered-%d", id)
	if x.fifo[id] {
		name += ".fifo"
	}
	return name
}
