package dynamohistory

import (
	"cmp"
	"context"
	"crypto/rand"
	"maps"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/muster-scale/muster"
	"github.com/muster-scale/muster/history/internal/rules"
	"github.com/muster-scale/muster/internal/attribute"
)

const (
	// sweepEvery is how often Prune works through a stream. Each time it reads all pages but those of the last day.
	sweepEvery = 6 * time.Hour
	// setBack is how far a clock may be set back between appends so that Prune still finds the old records behind newer
	// ones. Others stay until a later call.
	setBack = 6 * time.Hour
	// foldAtOnce and foldBytes bound the pages in one transaction; DynamoDB's bounds are 100 elements and 4 MB.
	foldAtOnce = 90
	foldBytes  = 3 << 20
)

// Prune removes records older than keep, except the newest of each kind of a fleet, and folds learned records older
// than [rules.FineFor] into one per hour, as the history in SQLite does. A stream that was worked through less than six
// hours before now is left alone. Shared in the result is always 0, because each page has its own copy. Several
// controllers may prune at the same time. One call handles a bounded number of records; More says that work is left.
func (s *Store) Prune(ctx context.Context, now time.Time, keep time.Duration) (rules.Pruned, error) {
	before, err := rules.Cutoffs(now, keep)
	if err != nil {
		return rules.Pruned{}, err
	}
	fleets, err := s.Fleets(ctx)
	if err != nil {
		return rules.Pruned{}, err
	}
	var p rules.Pruned
	left := rules.PruneRows
	for _, fleet := range fleets {
		if left <= 0 {
			p.More = true
			break
		}
		w := sweep{Store: s, fleet: fleet, before: before}
		more, err := w.run(ctx, now, left)
		p.Removed, p.Folded, p.More = p.Removed+w.removed, p.Folded+w.folded, p.More || more
		if err != nil {
			return p, s.failed("prune the history of fleet "+fleet, err)
		}
		left -= w.rows
	}
	return p, nil
}

// sweep is the work of one Prune on one stream.
type sweep struct {
	*Store
	fleet  string
	before rules.Cutoff
	head   head
	pages  []swept
	// rows, removed and folded count records.
	rows, removed, folded int
}

// swept is a page with its records.
type swept struct {
	page
	records []muster.Record
}

// run works through the stream until about so many rows were read, and tells whether pages are left.
func (w *sweep) run(ctx context.Context, now time.Time, rows int) (more bool, err error) {
	if w.head, err = w.fetchHead(ctx, w.fleet); err != nil {
		return false, err
	}
	since := now.UnixNano() - w.head.swept
	if w.head.cursor == "" && since >= 0 && since < int64(sweepEvery) {
		return false, nil
	}
	if err := w.flush(ctx); err != nil {
		return false, err
	}
	cursor, err := w.load(ctx, rows)
	if err == nil {
		err = w.removeOld(ctx)
	}
	if err == nil {
		err = w.fold(ctx)
	}
	if err != nil {
		return false, err
	}
	in := &dynamodb.UpdateItemInput{TableName: &w.table, Key: headOf(w.fleet),
		ExpressionAttributeNames: map[string]string{}, ExpressionAttributeValues: element{}}
	set := element{attrCursor: attribute.Text(cursor)}
	if cursor == "" {
		set[attrSwept] = attribute.Number(now.UnixNano())
	}
	update(in, set)
	_, err = w.api.UpdateItem(ctx, in)
	return cursor != "", err
}

// boundary is the time before which records may be old or folded.
func (w *sweep) boundary() int64 { return max(w.before.Fold, w.before.Others) }

// flush makes an element of the page in the head if it has old records, so that the rest of the sweep sees it. This is
// rare: a fleet that runs appends something new every minute.
func (w *sweep) flush(ctx context.Context) error {
	last := w.head.last
	if last.first == 0 || last.oldest >= w.boundary() {
		return nil
	}
	if err := w.movePage(ctx, w.fleet, last); err != nil {
		return err
	}
	_, err := w.api.UpdateItem(ctx, &dynamodb.UpdateItemInput{
		TableName: &w.table, Key: headOf(w.fleet), UpdateExpression: aws.String("SET #first = :none REMOVE #body"),
		ConditionExpression: aws.String("#epoch = :epoch AND #seq = :seq"),
		ExpressionAttributeNames: map[string]string{"#first": attrFirst, "#body": attrBody, "#epoch": attrEpoch,
			"#seq": attrSeq},
		ExpressionAttributeValues: element{":none": attribute.Number(0), ":epoch": attribute.Number(w.head.at.Epoch),
			":seq": attribute.Number(w.head.at.Seq)},
	})
	if refused(err) { // a writer was faster, and has moved the page
		return nil
	}
	w.head.last = page{}
	return err
}

// load reads pages from the cursor of the stream on, up to the first that is too new for any work, and until about so
// many rows were read. It returns the key to go on after, empty at the end.
func (w *sweep) load(ctx context.Context, rows int) (cursor string, err error) {
	in := w.Store.pages(w.fleet, pageKey(1), pageKey(w.head.end()))
	if w.head.cursor != "" {
		in.ExclusiveStartKey = element{attrStream: attribute.Text(fleetPrefix + w.fleet),
			attrElement: attribute.Text(w.head.cursor)}
	}
	err = w.query(ctx, in, func(e element) (bool, error) {
		p, err := readPage(e)
		if err != nil {
			return false, err
		}
		if p.oldest >= w.boundary()+int64(setBack) {
			return false, nil
		}
		if w.rows >= rows {
			cursor = pageKey(w.pages[len(w.pages)-1].first)
			return false, nil
		}
		records, err := w.Store.records(ctx, w.fleet, p)
		w.pages, w.rows = append(w.pages, swept{p, records}), w.rows+len(records)
		return err == nil, err
	})
	return cursor, err
}

// removeOld rewrites the pages that have old records. The newest record of each kind stays; by the time of writing
// there may be a newer one, which costs nothing but a record too many.
func (w *sweep) removeOld(ctx context.Context) error {
	for i := range w.pages {
		p := &w.pages[i]
		kept := slices.DeleteFunc(slices.Clone(p.records), func(r muster.Record) bool {
			return w.before.Old(r.Kind, r.At.UnixNano()) && r.Position.Seq != w.head.kinds[r.Kind]
		})
		if len(kept) == len(p.records) {
			continue
		}
		was, removed := p.page, len(p.records)-len(kept)
		if err := p.set(kept); err != nil {
			return err
		}
		err := w.rewrite(ctx, was, p)
		if refused(err) {
			p.records = nil // another controller prunes it
			continue
		}
		if err != nil {
			return err
		}
		w.removed += removed
	}
	return nil
}

// set gives a page other records, under the same key.
func (p *swept) set(records []muster.Record) (err error) {
	p.records = records
	p.version++
	p.parts, p.nonce = 0, rand.Text()
	if len(records) > 0 {
		p.oldest, p.newest = span(records)
		p.body, err = encode(records)
	}
	return err
}

// rewrite puts p in place of the page that it was, or removes that page if p is empty.
func (w *sweep) rewrite(ctx context.Context, was page, p *swept) error {
	names, values := map[string]string{"#v": attrVersion}, element{":v": attribute.Number(was.version)}
	condition := aws.String("#v = :v")
	var err error
	if len(p.records) == 0 {
		_, err = w.api.DeleteItem(ctx, &dynamodb.DeleteItemInput{TableName: &w.table, Key: keyOf(w.fleet, was),
			ConditionExpression: condition, ExpressionAttributeNames: names, ExpressionAttributeValues: values})
	} else if err = w.stage(ctx, w.fleet, page{}, &p.page); err == nil {
		_, err = w.api.PutItem(ctx, &dynamodb.PutItemInput{TableName: &w.table, Item: p.element(w.fleet),
			ConditionExpression: condition, ExpressionAttributeNames: names, ExpressionAttributeValues: values})
	}
	for i := range was.parts {
		if err != nil {
			break
		}
		_, err = w.api.DeleteItem(ctx, &dynamodb.DeleteItemInput{TableName: &w.table,
			Key: element{attrStream: attribute.Text(fleetPrefix + w.fleet),
				attrElement: attribute.Text(partKey(was.nonce, i))}})
	}
	return err
}

func keyOf(fleet string, p page) element {
	return element{attrStream: attribute.Text(fleetPrefix + fleet), attrElement: attribute.Text(pageKey(p.first))}
}

// row is a learned record and its page.
type row struct {
	rules.Lesson
	page int
}

// fold merges the learned records of each hour. Pages with parts stay as they are: they do not fit into a transaction.
func (w *sweep) fold(ctx context.Context) error {
	hours := map[int64][]row{}
	for i, p := range w.pages {
		for _, r := range p.records {
			at := r.At.UnixNano()
			if r.Kind == muster.Learned && at < w.before.Fold && p.parts == 0 {
				hour := at / int64(time.Hour)
				hours[hour] = append(hours[hour], row{rules.Lesson{Seq: r.Position.Seq, At: at, Body: r.Body}, i})
			}
		}
	}
	for _, hour := range slices.Sorted(maps.Keys(hours)) {
		rows := hours[hour]
		slices.SortStableFunc(rows, func(a, b row) int { return cmp.Compare(a.At, b.At) })
		for len(rows) > 1 {
			n := w.atOnce(rows)
			left, err := w.foldRows(ctx, rows[:n])
			if err != nil {
				return err
			}
			rows = append(left, rows[n:]...)
		}
	}
	return nil
}

// atOnce returns how many of the rows fit into one transaction, at least 2.
func (w *sweep) atOnce(rows []row) int {
	n, bytes := 0, 0
	for _, r := range rows {
		if bytes += len(w.pages[r.page].body) + 1000; n == foldAtOnce || n >= 2 && bytes > foldBytes {
			break
		}
		n++
	}
	return n
}

// foldRows merges rows of one hour in one transaction, so that no duration is counted twice. It returns the merged row,
// which the next rows of the hour are merged with; none if nothing could be merged.
func (w *sweep) foldRows(ctx context.Context, rows []row) (left []row, err error) {
	var lessons []rules.Lesson
	for _, r := range rows {
		lessons = append(lessons, r.Lesson)
	}
	f := rules.FoldHours(lessons, w.before.Fold, false)
	if len(f.Gone) == 0 {
		return nil, nil
	}
	in := &dynamodb.TransactWriteItemsInput{}
	changed := map[int]swept{}
	for _, r := range rows {
		if _, done := changed[r.page]; done {
			continue
		}
		p := w.pages[r.page]
		was := p.page
		if err := p.set(folded(p.records, f)); err != nil {
			return nil, err
		}
		changed[r.page] = p
		in.TransactItems = append(in.TransactItems, w.write(was, p))
	}
	if _, err := w.api.TransactWriteItems(ctx, in); err != nil {
		return nil, err
	}
	for i, p := range changed {
		w.pages[i] = p
	}
	w.folded += len(f.Gone)
	for _, r := range rows {
		if body, merged := f.Bodies[r.Seq]; merged {
			r.Body = body
			left = append(left, r)
		}
	}
	return left, nil
}

// folded returns records after folding.
func folded(records []muster.Record, f rules.Folding) []muster.Record {
	var kept []muster.Record
	for _, r := range records {
		if body, merged := f.Bodies[r.Position.Seq]; merged {
			r.Body = body
		}
		if !slices.Contains(f.Gone, r.Position.Seq) {
			kept = append(kept, r)
		}
	}
	return kept
}

// write is the part of a transaction that puts p in place of the page that it was.
func (w *sweep) write(was page, p swept) types.TransactWriteItem {
	names, values := map[string]string{"#v": attrVersion}, element{":v": attribute.Number(was.version)}
	condition := aws.String("#v = :v")
	if len(p.records) == 0 {
		return types.TransactWriteItem{Delete: &types.Delete{TableName: &w.table, Key: keyOf(w.fleet, was),
			ConditionExpression: condition, ExpressionAttributeNames: names, ExpressionAttributeValues: values}}
	}
	return types.TransactWriteItem{Put: &types.Put{TableName: &w.table, Item: p.element(w.fleet),
		ConditionExpression: condition, ExpressionAttributeNames: names, ExpressionAttributeValues: values}}
}
