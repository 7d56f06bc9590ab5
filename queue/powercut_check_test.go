package queue

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"time"

	"github.com/muster-scale/muster/internal/powercut"
	"github.com/muster-scale/muster/internal/sqlitefile"
	"github.com/muster-scale/muster/queue/internal/machine"
	"github.com/muster-scale/muster/queue/internal/rules"
	"github.com/muster-scale/muster/queue/internal/storage"
)

// cut is a disk after a power cut and what must, and may, be on it: what was
// acknowledged before the cut, and what was begun before its end.
type cut struct {
	disk *powercut.Disk
	must view
	may  view
}

// check opens the queue as after a restart and compares it with the views.
func (c cut) check(ctx context.Context) (err error) {
	header, err := c.disk.Read(queueFile)
	if err != nil {
		return err
	}
	name, err := c.disk.Mount()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.disk.Unmount()) }()
	if len(header) < sqlitefile.PageBytes ||
		!sqlitefile.CheckPage(1, header[:sqlitefile.PageBytes]) { // as inspect does
		if _, err := storage.CheckLogged(ctx, queueFile, name); err != nil {
			return fmt.Errorf("%w: %w", ErrCorruptFile, err)
		}
	}
	db, err := storage.OpenFile(ctx, queueFile, name, logOn(c.disk, 0), powercut.Named{Disk: c.disk, Name: markName},
		false)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	if _, _, err := machine.Load(db, time.Now().UnixMilli(), rules.ParseSettings); err != nil {
		return err
	}
	var verdict string
	if err := db.Db.QueryRowContext(ctx, "PRAGMA integrity_check").Scan(&verdict); err != nil {
		return fmt.Errorf("integrity check: %w", err)
	}
	switch damaged := db.Pages.Damaged(); {
	case len(damaged) > 0:
		return fmt.Errorf("%w: pages %v", ErrCorruptFile, damaged)
	case verdict != "ok":
		return fmt.Errorf("integrity check: %s", verdict)
	}
	return c.compare(db)
}

// found is a message in the file.
type found struct {
	machine.Numbers
	machine.Record
	attributes map[string]Attribute
	queue      string
}

// messages yields what is in the file, without the rows of purged and deleted
// queues.
func messages(db *storage.SqliteStore, yield func(*found)) error {
	rows, err := db.Db.Query(`SELECT q.name, m.seq, m.sent, m.visible, m.received, m.count FROM messages m JOIN queues q
		ON q.id = m.queue_id AND m.seq > q.floor`)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		var f found
		if err := rows.Scan(&f.queue, &f.Seq, &f.Sent, &f.Visible, &f.Received, &f.Count); err != nil {
			return err
		}
		if err := f.read(db); err != nil {
			return err
		}
		yield(&f)
	}
	return rows.Err()
}

// read reads the content.
func (f *found) read(db *storage.SqliteStore) error {
	rec, err := db.Record(f.Seq)
	if err != nil {
		return err
	}
	if rec == nil {
		return fmt.Errorf("the content of row %d is missing", f.Seq)
	}
	f.Record = *rec
	if len(rec.Attributes) == 0 {
		return nil
	}
	var x extras
	err = json.Unmarshal(rec.Attributes, &x)
	f.attributes = x.Attributes
	return err
}

func (c cut) compare(db *storage.SqliteStore) error {
	var errs []error
	present := make([]*found, len(c.may.facts))
	err := messages(db, func(f *found) {
		n, err := number(f.Body)
		if err == nil && n >= len(present) {
			err = fmt.Errorf("message %d was not sent yet", n)
		}
		if err == nil && present[n] != nil {
			err = fmt.Errorf("message %d is there twice", n)
		}
		if err != nil {
			errs = append(errs, err)
			return
		}
		present[n] = f
	})
	errs = append(errs, err)
	batches := map[int]int{} // sends of which nothing may be missing or present alone
	for n := range c.may.facts {
		if err := c.compareOne(n, present[n]); err != nil {
			errs = append(errs, fmt.Errorf("message %d: %w", n, err))
		}
		if f := &c.may.facts[n]; present[n] != nil {
			batches[f.batch] |= 1
		} else if !f.removing {
			batches[f.batch] |= 2
		}
	}
	for batch, what := range batches {
		if what == 3 {
			errs = append(errs, fmt.Errorf("send %d is there in part", batch))
		}
	}
	return errors.Join(append(errs, compareOrder(present), c.compareWindow(db), c.compareQueues(db))...)
}

// compareOrder holds the FIFO queue to the order in which each client sent.
func compareOrder(present []*found) error {
	last := map[string]*found{}
	for n, f := range present {
		if f == nil || f.queue != ordered {
			continue
		}
		if before := last[f.Group]; before != nil && before.Seq > f.Seq {
			return fmt.Errorf("message %d of group %s comes before one that was sent earlier", n, f.Group)
		}
		last[f.Group] = f
	}
	return nil
}

// compareWindow looks whether a second send of an acknowledged message would
// be recognised, even if the first one was deleted.
func (c cut) compareWindow(db *storage.SqliteStore) error {
	known := map[string]bool{}
	rows, err := db.Db.Query("SELECT message_id FROM deduplication")
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		var id []byte
		if err := rows.Scan(&id); err != nil {
			return err
		}
		known[rules.FormatUUID([16]byte(id))] = true
	}
	for n, f := range c.must.facts {
		if f.acked && f.queue == ordered && !known[f.id] {
			return fmt.Errorf("message %d would be taken twice", n)
		}
	}
	return rows.Err()
}

// compareOne compares one message; f is nil if it is not there.
func (c cut) compareOne(n int, f *found) error {
	may := &c.may.facts[n]
	var must fact
	if n < len(c.must.facts) {
		must = c.must.facts[n]
	}
	switch {
	case f == nil && must.acked && !may.removing:
		return errors.New("its send was acknowledged, and it is lost")
	case f == nil:
		return nil
	case must.purged:
		return errors.New("a purge was acknowledged, and it is back")
	case must.deleted > 0 && f.queue == may.queue && f.Count <= must.deleted:
		return fmt.Errorf("its delete with the receipt of receive %d was acknowledged, and it is back with %d receives",
			must.deleted, f.Count)
	case f.Body != may.body || may.id != "" && rules.FormatUUID(f.ID) != may.id:
		return fmt.Errorf("id %s, body %.20q...; want %s, %.20q...", rules.FormatUUID(f.ID), f.Body, may.id, may.body)
	case !reflect.DeepEqual(f.attributes, attributesOf(n)):
		return fmt.Errorf("attributes %v, want %v", f.attributes, attributesOf(n))
	case f.queue != may.queue && (f.queue != "dead" || may.queue != "q" || f.Source != "q" || f.Count < 3):
		return fmt.Errorf("it is in queue %s with %d receives, sent to %s", f.queue, f.Count, may.queue)
	case must.received > 1 && f.Count < must.received && may.changes == must.changes:
		return fmt.Errorf("it was received %d times, %d of them are there", must.received, f.Count)
	case may.notBefore != 0 && may.notBefore == must.notBefore && f.Visible < must.notBefore && f.queue != "dead":
		return fmt.Errorf("it was to be invisible until %d, and is until %d", must.notBefore, f.Visible)
	}
	return nil
}

func (c cut) compareQueues(db *storage.SqliteStore) error {
	queues, err := storage.LoadQueues(db.Db)
	there := map[string]bool{}
	for _, q := range queues {
		there[q.Name] = true
	}
	errs := []error{err}
	for name, q := range c.must.queues {
		switch {
		case q.created && !c.may.queues[name].removing && !there[name]:
			errs = append(errs, fmt.Errorf("queue %s was made, and is lost", name))
		case q.removed && there[name]:
			errs = append(errs, fmt.Errorf("queue %s was deleted, and is back", name))
		}
	}
	return errors.Join(errs...)
}
