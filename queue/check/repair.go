// The repair: new files with everything intact, and the order of renames that makes a crash harmless.

package check

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/muster-scale/muster/internal/durable"
	"github.com/muster-scale/muster/internal/sqlitefile"
	"github.com/muster-scale/muster/queue/internal/machine"
	"github.com/muster-scale/muster/queue/internal/storage"
)

// repair writes new files with everything that x found intact, and puts them in the place of the
// damaged ones.
func repair(ctx context.Context, x *examination, o Options) error {
	path := filepath.Join(x.dir, storage.RepairedName)
	if err := storage.Create(ctx, storage.SystemPlace(), path,
		func(s *storage.SqliteStore) error { return x.copyTo(ctx, s) }); err != nil {
		return errors.Join(fmt.Errorf("%w; the damaged files are unchanged", err),
			storage.RemoveNew(storage.SystemPlace(), path))
	}
	kept, err := finishRepair(x.dir, o, x.result)
	x.result.Kept = kept
	return err
}

// copyTo writes everything intact to a new file. It examines the files a second time, so that messages
// pass through one batch at a time and never need to be in memory together.
func (x *examination) copyTo(ctx context.Context, s *storage.SqliteStore) error {
	var ops []machine.Op
	for _, id := range slices.Sorted(maps.Keys(x.queues)) {
		ops = append(ops, machine.Op{Kind: machine.OpPutQueue, Queue: x.queues[id]})
	}
	// A queue whose row is lost is created anew with default attributes, so that its messages have a
	// place.
	for _, id := range slices.Sorted(maps.Keys(x.unclaimed)) {
		q := &machine.QueueRow{ID: id, Name: x.recovered(id)}
		if x.fifo[id] {
			q.Attributes = map[string]string{"FifoQueue": "true"}
		}
		ops = append(ops, machine.Op{Kind: machine.OpPutQueue, Queue: q})
	}
	for i := range x.dedup {
		ops = append(ops, machine.Op{Kind: machine.OpPutDedup, Dedup: &x.dedup[i]})
	}
	for i := range x.moves {
		ops = append(ops, machine.Op{Kind: machine.OpPutMove, Move: &x.moves[i]})
	}
	if err := s.Commit(ops); err != nil {
		return err
	}
	ops = nil
	// x has read the small tables and counted the messages; this second pass copies their contents.
	again, err := examine(ctx, x.dir, func(m machine.Row, content *machine.Record) error {
		if ops = append(ops, machine.Op{Kind: machine.OpInsert, Row: m,
			Record: content}); len(ops) < storage.UpgradeBatch {
			return nil
		}
		err := s.Commit(ops)
		ops = ops[:0]
		return err
	})
	if err == nil {
		err = s.Commit(ops)
	}
	if err != nil {
		return err
	}
	ops = nil
	for o := range again.pending.Ops {
		// The new file has the message under its new sequence already; only the old row remains to be
		// removed.
		if o.Kind == machine.OpMove && again.movedTwice(again.pending.Rows[o.Row.Seq]) {
			o.Kind = machine.OpRemove
		}
		ops = append(ops, *o)
	}
	if err := s.Commit(ops); err != nil {
		return err
	}
	// The next opening counts the epoch up, so new sequences are larger than any lost one and old
	// receipts cannot match new messages.
	highest := max(again.highest, again.pending.Highest())
	return s.Execute(nil, &storage.TableChange{Epoch: max(x.epoch, highest>>machine.SeqBits, 1), Secret: x.secret})
}

// finishRepair links the damaged files into a directory of their own, and renames the new file to their
// place. It can be repeated after a crash: the new file keeps its temporary name until everything else
// is done.
func finishRepair(dir string, o Options, found *Result) (kept string, err error) {
	kept = filepath.Join(dir, "damaged-"+o.At.UTC().Format("20060102T150405.000Z"))
	if err := durable.MkdirAll(kept, 0o700); err != nil {
		return "", err
	}
	// Links, not copies: they need no room, and the files keep their names until the new ones are
	// complete.
	for _, name := range []string{tablesName, tableWAL, tableMark, logFileName} {
		if err := os.Link(filepath.Join(dir, name), filepath.Join(kept, name)); err != nil &&
			!errors.Is(err, fs.ErrNotExist) {
			return "", fmt.Errorf("keep the damaged files: %w", err)
		}
	}
	if found != nil {
		text, err := json.MarshalIndent(found, "", "  ")
		if err == nil {
			err = durable.Create(filepath.Join(kept, "report.json"), append(text, '\n'))
		}
		if err != nil {
			return "", fmt.Errorf("keep the report: %w", err)
		}
	}
	if err := durable.SyncDir(kept); err != nil {
		return "", err
	}
	// SQLite would apply the old write-ahead log to the new file.
	for _, name := range []string{tableWAL, tableShared, logFileName} {
		if err := os.Remove(filepath.Join(dir, name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return "", fmt.Errorf("remove the logs of the damaged file: %w", err)
		}
	}
	if err := durable.SyncDir(dir); err != nil {
		return "", err
	}
	// The tables get their name last, since that ends the repair: only then RepairedName is gone.
	for _, suffix := range []string{sqlitefile.MarkSuffix, ""} {
		err := os.Rename(filepath.Join(dir, storage.RepairedName+suffix), filepath.Join(dir, tablesName+suffix))
		if err != nil && (suffix == "" || !errors.Is(err, fs.ErrNotExist)) { // the mark may be renamed already
			return "", fmt.Errorf("rename the repaired file: %w", err)
		}
	}
	return kept, durable.SyncDir(dir)
}
