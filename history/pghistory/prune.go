package pghistory

import (
	"context"
	"database/sql"
	"time"

	"github.com/lib/pq"

	"github.com/muster-scale/muster"
	"github.com/muster-scale/muster/history/internal/rules"
)

// Prune removes records older than keep, except the newest of each kind of a fleet. It folds learned records older than
// [rules.FineFor] into one per hour, and drops shared contents without records, as the history in SQLite does. One call
// handles a bounded number of records; More in the result says that another call has work left. If another controller
// prunes now, it does nothing.
func (s *Store) Prune(ctx context.Context, now time.Time, keep time.Duration) (rules.Pruned, error) {
	before, err := rules.Cutoffs(now, keep)
	if err != nil {
		return rules.Pruned{}, err
	}
	var p rules.Pruned
	err = Transact(ctx, s.db, func(ctx context.Context, tx *sql.Tx) error {
		var mine bool
		err := tx.QueryRowContext(ctx, "SELECT pg_try_advisory_xact_lock($1)", int64(lockPrune)).Scan(&mine)
		if err != nil || !mine {
			return err
		}
		if p.Removed, err = removeOld(ctx, tx, before); err != nil {
			return err
		}
		var unfolded bool
		if p.Folded, unfolded, err = foldLearned(ctx, tx, before.Fold); err != nil {
			return err
		}
		p.Shared, err = changed(tx.ExecContext(ctx, `DELETE FROM muster.shared WHERE hash IN (
			SELECT hash FROM muster.shared s WHERE NOT EXISTS (SELECT 1 FROM muster.records r WHERE r.shared = s.hash)
			LIMIT $1)`, rules.PruneRows))
		p.More = unfolded || p.Removed == rules.PruneRows || p.Shared == rules.PruneRows
		return err
	})
	if err != nil {
		return rules.Pruned{}, failed("prune the history", err)
	}
	return p, nil
}

// removeOld removes a bounded number of old records. The newest of each kind of a fleet stays, whatever its age.
func removeOld(ctx context.Context, tx *sql.Tx, before rules.Cutoff) (int, error) {
	return changed(tx.ExecContext(ctx, `DELETE FROM muster.records WHERE (fleet, seq) IN (
		SELECT r.fleet, r.seq FROM muster.records r WHERE r.at < $1 AND (r.kind <> $2 OR r.at < $3)
			AND EXISTS (SELECT 1 FROM muster.records n WHERE n.fleet = r.fleet AND n.kind = r.kind AND n.seq > r.seq)
		LIMIT $4)`, before.Others, string(muster.Learned), before.Learned, rules.PruneRows))
}

// foldLearned folds the learned records before the boundary, stream by stream, until about rules.PruneRows were read.
// It returns how many records were merged away and whether more remain.
func foldLearned(ctx context.Context, tx *sql.Tx, boundary int64) (gone int, more bool, err error) {
	var streams pq.Int64Array
	err = tx.QueryRowContext(ctx, "SELECT array(SELECT id FROM muster.streams WHERE folded < $1 ORDER BY folded, id)",
		boundary).Scan(&streams)
	if err != nil {
		return 0, false, err
	}
	read := 0
	for _, stream := range streams {
		if read >= rules.PruneRows {
			return gone, true, nil
		}
		found, err := learnedOf(ctx, tx, stream, boundary)
		if err != nil {
			return 0, false, err
		}
		read += len(found)
		f := rules.FoldHours(found, boundary, len(found) == rules.PruneRows)
		if err := apply(ctx, tx, stream, f); err != nil {
			return 0, false, err
		}
		gone += len(f.Gone)
		more = more || f.Until < boundary
	}
	return gone, more, nil
}

// learnedOf returns a bounded number of learned records of a stream that are not folded and lie before the boundary, by
// time.
func learnedOf(ctx context.Context, tx *sql.Tx, stream, boundary int64) (found []rules.Lesson, err error) {
	rows, err := tx.QueryContext(ctx, `SELECT r.seq, r.at, r.body FROM muster.records r
		JOIN muster.streams f ON f.id = r.fleet
		WHERE f.id = $1 AND r.at >= f.folded AND r.at < $2 AND r.kind = $3 ORDER BY r.at, r.seq LIMIT $4`,
		stream, boundary, string(muster.Learned), rules.PruneRows)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var l rules.Lesson
		if err := rows.Scan(&l.Seq, &l.At, &l.Body); err != nil {
			return nil, err
		}
		found = append(found, l)
	}
	return found, rows.Err()
}

// apply writes the result of folding one stream. The row of the stream is written only when something changed, or once
// an hour: an append waits for it.
func apply(ctx context.Context, tx *sql.Tx, stream int64, f rules.Folding) error {
	var seqs pq.Int64Array
	var bodies pq.ByteaArray
	for seq, body := range f.Bodies {
		seqs, bodies = append(seqs, seq), append(bodies, body)
	}
	if len(seqs) > 0 {
		_, err := tx.ExecContext(ctx, `UPDATE muster.records r SET body = u.body
			FROM unnest($2::bigint[], $3::bytea[]) AS u (seq, body) WHERE r.fleet = $1 AND r.seq = u.seq`, stream, seqs,
			bodies)
		if err != nil {
			return err
		}
		_, err = tx.ExecContext(ctx, "DELETE FROM muster.records WHERE fleet = $1 AND seq = ANY($2)", stream,
			pq.Int64Array(f.Gone))
		if err != nil {
			return err
		}
	}
	_, err := tx.ExecContext(ctx, "UPDATE muster.streams SET folded = greatest(folded, $1) WHERE id = $2", f.Until,
		stream)
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
