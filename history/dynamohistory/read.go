package dynamohistory

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/muster-scale/muster"
	"github.com/muster-scale/muster/history/internal/rules"
	"github.com/muster-scale/muster/internal/attribute"
)

// Read implements [muster.History]. It reads all pages of the fleet, because a clock that was set back may have put a
// new record into any of them; only pages with records since that time are transferred. It sees whole appends, and
// none that came after its call began. Prune may run at the same time and remove old records from what is read.
func (s *Store) Read(ctx context.Context, fleet string, since time.Time, yield func(muster.Record) bool) error {
	what := fmt.Sprintf("read the records of fleet %q", fleet)
	h, err := s.fetchHead(ctx, fleet)
	if err != nil {
		return s.failed(what, err)
	}
	from := rules.Nanoseconds(since)
	in := s.pages(fleet, pageKey(1), pageKey(h.end()))
	in.FilterExpression = aws.String("#n >= :n")
	in.ExpressionAttributeNames["#n"], in.ExpressionAttributeValues[":n"] = attrNewest, attribute.Number(from)
	err = s.each(ctx, fleet, h, in, func(records []muster.Record) bool {
		for _, r := range records {
			if r.At.UnixNano() >= from && !yield(r) {
				return false
			}
		}
		return true
	})
	return s.failed(what, err)
}

// Last returns up to n records of a fleet, newest first, of the given kinds or of all. n is 1 to [rules.MaxLast].
func (s *Store) Last(ctx context.Context, fleet string, n int, kinds ...muster.RecordKind) ([]muster.Record, error) {
	return s.Before(ctx, fleet, math.MaxInt64, n, kinds...)
}

// Before is [Store.Last] of the records with sequence numbers below seq.
func (s *Store) Before(ctx context.Context, fleet string, seq int64, n int, kinds ...muster.RecordKind) (
	[]muster.Record, error,
) {
	if err := rules.CheckLast(n); err != nil {
		return nil, err
	}
	what := fmt.Sprintf("read the last records of fleet %q", fleet)
	h, err := s.fetchHead(ctx, fleet)
	if err != nil {
		return nil, s.failed(what, err)
	}
	var last []muster.Record
	// A page that begins below seq may end above it.
	in := s.pages(fleet, pageKey(1), pageKey(min(h.end(), seq-1)))
	in.ScanIndexForward, in.Limit = aws.Bool(false), aws.Int32(int32(min(n, 100)))
	err = s.each(ctx, fleet, h, in, func(records []muster.Record) bool {
		for _, r := range slices.Backward(records) {
			if r.Position.Seq < seq && len(last) < n && (len(kinds) == 0 || slices.Contains(kinds, r.Kind)) {
				last = append(last, r)
			}
		}
		return len(last) < n
	})
	if err != nil {
		return nil, s.failed(what, err)
	}
	return last, nil
}

// Get returns the record of a fleet with the given sequence number, or an error that is [rules.ErrNoRecord].
func (s *Store) Get(ctx context.Context, fleet string, seq int64) (muster.Record, error) {
	what := fmt.Sprintf("read record %d of fleet %q", seq, fleet)
	h, err := s.fetchHead(ctx, fleet)
	if err != nil {
		return muster.Record{}, s.failed(what, err)
	}
	if seq < 1 || seq > h.at.Seq {
		return muster.Record{}, rules.NoRecord(fleet, seq)
	}
	// The record is in the last page that begins at or before it.
	in := s.pages(fleet, pageKey(1), pageKey(seq))
	in.ScanIndexForward, in.Limit = aws.Bool(false), aws.Int32(1)
	var found *muster.Record
	err = s.each(ctx, fleet, h, in, func(records []muster.Record) bool {
		if i := slices.IndexFunc(records, func(r muster.Record) bool { return r.Position.Seq == seq }); i >= 0 {
			found = &records[i]
		}
		return records[0].Position.Seq > seq
	})
	if err != nil || found == nil {
		return muster.Record{}, s.failed(what, errors.Join(err, rules.NoRecord(fleet, seq)))
	}
	return *found, nil
}

// Fleets returns the names of the fleets that have a stream, sorted.
func (s *Store) Fleets(ctx context.Context) ([]string, error) {
	in := &dynamodb.QueryInput{TableName: &s.table, ConsistentRead: aws.Bool(true),
		KeyConditionExpression:    aws.String("#s = :s"),
		ExpressionAttributeNames:  map[string]string{"#s": attrStream},
		ExpressionAttributeValues: element{":s": attribute.Text(listOfFleets)}}
	var fleets []string
	err := s.query(ctx, in, func(e element) (bool, error) {
		fleets = append(fleets, attribute.TextOf(e[attrElement]))
		return true, nil
	})
	return fleets, s.failed("list the fleets", err)
}

// end is the sequence number from which on pages are not part of the stream: those that a reader finds beyond the page
// in the head were moved or left there after the head was read.
func (h head) end() int64 {
	if h.last.first > 0 {
		return h.last.first - 1
	}
	return h.at.Seq
}

// pages is a query of the pages of a fleet between two keys.
func (s *Store) pages(fleet, from, to string) *dynamodb.QueryInput {
	return &dynamodb.QueryInput{TableName: &s.table, ConsistentRead: aws.Bool(true),
		KeyConditionExpression:   aws.String("#s = :s AND #k BETWEEN :from AND :to"),
		ExpressionAttributeNames: map[string]string{"#s": attrStream, "#k": attrElement},
		ExpressionAttributeValues: element{":s": attribute.Text(fleetPrefix + fleet), ":from": attribute.Text(from),
			":to": attribute.Text(max(from, to))}}
}

// each calls yield with the records of each page of a query, and with those of the page in the head where they belong
// by their order, until yield returns false.
func (s *Store) each(ctx context.Context, fleet string, h head, in *dynamodb.QueryInput,
	yield func([]muster.Record) bool) error {
	inHead := func() (bool, error) {
		if h.last.first == 0 {
			return true, nil
		}
		records, err := s.records(ctx, fleet, h.last)
		return err == nil && yield(records), err
	}
	newestFirst := in.ScanIndexForward != nil && !*in.ScanIndexForward
	if newestFirst {
		if more, err := inHead(); err != nil || !more {
			return err
		}
	}
	stopped := false
	err := s.query(ctx, in, func(e element) (bool, error) {
		p, err := readPage(e)
		if err != nil {
			return false, err
		}
		if p.end > h.end() {
			return true, nil // moved here after the head was read
		}
		records, err := s.records(ctx, fleet, p)
		stopped = err != nil || !yield(records)
		return !stopped, err
	})
	if err == nil && !newestFirst && !stopped {
		_, err = inHead()
	}
	return err
}

// query calls yield with each element of a query, page by page, until yield returns false or an error.
func (s *Store) query(ctx context.Context, in *dynamodb.QueryInput, yield func(element) (bool, error)) error {
	for {
		out, err := s.api.Query(ctx, in)
		if err != nil {
			return err
		}
		for _, e := range out.Items {
			if more, err := yield(e); err != nil || !more {
				return err
			}
		}
		if in.ExclusiveStartKey = out.LastEvaluatedKey; len(in.ExclusiveStartKey) == 0 {
			return nil
		}
	}
}

// records returns the records of a page, and reads its parts if it has some.
func (s *Store) records(ctx context.Context, fleet string, p page) ([]muster.Record, error) {
	body := p.body
	for i := range p.parts {
		out, err := s.api.GetItem(ctx, &dynamodb.GetItemInput{TableName: &s.table, ConsistentRead: aws.Bool(true),
			Key: element{attrStream: attribute.Text(fleetPrefix + fleet), attrElement: attribute.Text(partKey(p.nonce,
				i))}})
		if err != nil {
			return nil, err
		}
		if body = append(body, attribute.BytesOf(out.Item[attrBody])...); len(body) > maxRaw {
			return nil, errPage
		}
	}
	records, err := decode(body)
	if err == nil && len(records) == 0 {
		err = errPage
	}
	if err != nil {
		return nil, fmt.Errorf("the page of record %d: %w", p.first, err)
	}
	return records, nil
}
