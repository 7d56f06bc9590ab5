package history

import (
	"context"
	"database/sql"
	"time"

	"github.com/muster-scale/muster"
	"github.com/muster-scale/muster/history/internal/rules"
)

// This file removes old records from the database. Which records, and how learned ones are merged, is decided by
// package rules, which [Memory] uses too.

// Prune removes records older than keep, except the newest of each kind of a fleet. It folds learned records older than
// [FineFor] into one per hour, and drops shared contents without records. Learned records stay for at least
// [KeepLearned]. keep is [MinKeep] to [MaxKeep]; zero means [DefaultKeep]. One call handles a bounded number of
// records; More in the result says that another call has work left. A folded record holds only the merged durations and
// arrival times, in the place of the newest record merged into it.
func (h *History) Prune(ctx context.Context, now time.Time, keep time.Duration) (Pruned, error) {
	return h.prune(ctx, now, keep, rules.PruneRows)
}

// prune is Prune with a bound of rows for each of its three steps. All are one transaction, which blocks appends while
// it runs, so the bound keeps that time short.
func (h *History) prune(ctx context.Context, now time.Time, keep time.Duration, rows int) (Pruned, error) {
	before, err := rules.Cutoffs(now, keep)
	if err != nil {
		return Pruned{}, err
	}
	var p Pruned
	err = h.write(ctx, "prune the history", func(tx *sql.Tx) error {
		p = Pruned{}
		var err error
		if p.Removed, err = removeOld(ctx, tx, before, rows); err != nil {
			return err
		}
		var unfolded bool
		if p.Folded, unfolded, err = foldLearned(ctx, tx, before.Fold, rows); err != nil {
			return err
		}
		p.Shared, err = changed(tx.ExecContext(ctx, `DELETE FROM shared WHERE hash IN (SELECT hash FROM shared s
			WHERE NOT EXISTS (SELECT 1 FROM records r WHERE r.shared = s.hash) LIMIT ?)`, rows))
		p.More = unfolded || p.Removed == rows || p.Shared == rows
		return err
	})
	if err != nil {
		return Pruned{}, err
	}
	return p, nil
}

// removeOld removes up to rows old records. The newest of each kind of a fleet stays, whatever its age: the last
// decision of a fleet that was quiet for weeks is still the one that a restart continues from.
func removeOld(ctx context.Context, tx *sql.Tx, before rules.Cutoff, rows int) (int, error) {
	return changed(tx.ExecContext(ctx, `DELETE FROM records WHERE id IN (SELECT r.id FROM streams f JOIN records r ON r.fleet = f.id
		WHERE r.at < ? AND (r.kind <> ? OR r.at < ?) AND r.seq < (SELECT max(n.seq) FROM records n WHERE n.fleet = r.fleet AND n.kind = r.kind) LIMIT ?)`,
		before.Others, string(muster.Learned), before.Learned, rows))
}

// foldLearned folds the learned records before the boundary, stream by stream, until about so many rows were read. It
// returns how many records were merged away and whether more remain.
func foldLearned(ctx context.Context, tx *sql.Tx, boundary int64, rows int) (gone int, more bool, err error) {
	streams, err := unfolded(ctx, tx, boundary)
	if err != nil {
		return 0, false, err
	}
	read := 0
	for _, stream := range streams {
		if read >= rows {
			return gone, true, nil
		}
		found, err := learnedOf(ctx, tx, stream, boundary, rows)
		if err != nil {
			return 0, false, err
		}
		read += len(found)
		f := rules.FoldHours(found, boundary, len(found) == rows)
		if err := apply(ctx, tx, stream, f); err != nil {
			return 0, false, err
		}
		gone += len(f.Gone)
		more = more || f.Until < boundary
	}
	return gone, more, nil
}

// unfolded returns the streams that have unfolded time before the boundary, the longest unfolded first, so that none
// starves when a call reaches its bound.
func unfolded(ctx context.Context, tx *sql.Tx, boundary int64) ([]int64, error) {
	rows, err := tx.QueryContext(ctx, "SELECT id FROM streams WHERE folded < ? ORDER BY folded, id", boundary)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var streams []int64
	for rows.Next() {
		var id int64
		if err := rows.Scan(&id); err != nil {
			return nil, err
		}
		streams = append(streams, id)
	}
	return streams, rows.Err()
}

// learnedOf returns up to limit learned records of a stream that are not folded and lie before the boundary, by time.
func learnedOf(ctx context.Context, tx *sql.Tx, stream, boundary int64, limit int) ([]rules.Lesson, error) {
	rows, err := tx.QueryContext(ctx, `SELECT r.seq, r.at, r.body FROM records r JOIN streams f ON f.id = r.fleet
		WHERE f.id = ? AND r.at >= f.folded AND r.at < ? AND r.kind = ? ORDER BY r.at, r.seq LIMIT ?`,
		stream, boundary, string(muster.Learned), limit)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var found []rules.Lesson
	for rows.Next() {
		var l rules.Lesson
		if err := rows.Scan(&l.Seq, &l.At, &l.Body); err != nil {
			return nil, err
		}
		found = append(found, l)
	}
	return found, rows.Err()
}

// apply writes the result of folding one stream. folded only grows: a call of Prune may have an
// earlier now than the one before.
func apply(ctx context.Context, tx *sql.Tx, stream int64, f rules.Folding) error {
	for seq, body := range f.Bodies {
		if _, err := tx.ExecContext(ctx, "UPDATE records SET body = ? WHERE fleet = ? AND seq = ?", body, stream,
			seq); err != nil {
			return err
		}
	}
	for _, seq := range f.Gone {
		if _, err := tx.ExecContext(ctx, "DELETE FROM records WHERE fleet = ? AND seq = ?", stream, seq); err != nil {
			return err
		}
	}
	_, err := tx.ExecContext(ctx, "UPDATE streams SET folded = max(folded, ?) WHERE id = ?", f.Until, stream)
	return err
}

// changed returns the number of rows that a statement changed.
func changed(result sql.Result, err error) (int, error) {
	if err != nil {
		return 0, err
	}
	n, err := result.RowsAffected()
	return int(n), err
}
