package dynamotree

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"strconv"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/muster-scale/muster/internal/attribute"
	"github.com/muster-scale/muster/tree"
)

const (
	// batch is the number of children in one transaction. With as many nodes marked as sent, their parent, the root and
	// its entry in the list of roots, it stays below DynamoDB's bound of 100 elements. A larger batch would mean fewer
	// round trips, and more work lost in a conflict.
	batch = 45
	// maxClaimed bounds the claimed nodes in a view, for the same bound.
	maxClaimed = 50
	// maxTries and the pauses bound how long a step is repeated when other workers are faster: about a minute.
	maxTries             = 100
	firstPause, maxPause = 5 * time.Millisecond, time.Second
)

// API is the part of DynamoDB's client that a store needs. [*dynamodb.Client] implements it.
type API interface {
	BatchGetItem(context.Context, *dynamodb.BatchGetItemInput,
		...func(*dynamodb.Options)) (*dynamodb.BatchGetItemOutput, error)
	Query(context.Context, *dynamodb.QueryInput, ...func(*dynamodb.Options)) (*dynamodb.QueryOutput, error)
	TransactWriteItems(context.Context, *dynamodb.TransactWriteItemsInput,
		...func(*dynamodb.Options)) (*dynamodb.TransactWriteItemsOutput, error)
}

// Store is a [tree.Store] in one table, which [Create] makes. It is safe for use by several goroutines, processes and
// machines. All reads are consistent.
type Store struct {
	api   API
	table string
}

// New returns the store in a table. It makes no call yet.
func New(api API, table string) *Store { return &Store{api, table} }

// Batch implements [tree.Bounded].
func (s *Store) Batch() int { return batch }

// errConflict means that another worker changed the root meanwhile: the step must be computed again.
var errConflict = errors.New("another worker changed the tree meanwhile")

// Step implements [tree.Store]. It may call step several times.
func (s *Store) Step(ctx context.Context, want tree.Want, step func(tree.View) (tree.Change, error)) error {
	if err := want.Check(); err != nil {
		return err
	}
	for try := 1; ; try++ {
		err := s.try(ctx, want, step)
		if !errors.Is(err, errConflict) {
			return err
		}
		if try == maxTries {
			return fmt.Errorf("change the tree %s in the table %s: %w, %d times; let fewer workers work on it at "+
				"once (--parallel)", want.Root, s.table, err, try)
		}
		if err := pause(ctx, try); err != nil {
			return err
		}
	}
}

// pause waits a random time that grows with each try, so that workers that collided once do not collide again.
func pause(ctx context.Context, try int) error {
	longest := min(maxPause, firstPause<<min(try, 10))
	select {
	case <-time.After(rand.N(longest)):
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// try makes a step once. The parts of a view are read one after the other. A change is safe, because its condition
// checks the version. A refusal is checked by reading the version again: step may have judged parts of different
// instants.
func (s *Store) try(ctx context.Context, want tree.Want, step func(tree.View) (tree.Change, error)) error {
	v, version, err := s.view(ctx, want)
	if err != nil {
		return s.failed("read the tree "+want.Root, err)
	}
	c, refused := step(v)
	// A change needs no second read: the condition on the version fails if anything of the tree has changed.
	if refused == nil && c.Root.ID != "" {
		if c.Root.ID != want.Root {
			return fmt.Errorf("keep a change: found one of the tree %q in a step of %q", c.Root.ID, want.Root)
		}
		return s.failed("change the tree "+want.Root, s.keep(ctx, c, version))
	}
	now, err := s.version(ctx, want.Root)
	switch {
	case err != nil:
		return s.failed("read the tree "+want.Root, err)
	case now != version:
		return errConflict
	}
	return refused
}

// view reads want, and the root's version: 0 if there is no root.
func (s *Store) view(ctx context.Context, want tree.Want) (v tree.View, version int64, err error) {
	keys := []string{rootKey}
	for _, id := range want.IDs {
		keys = append(keys, nodeKey(id))
	}
	found, err := s.get(ctx, want.Root, keys)
	if err != nil {
		return v, 0, err
	}
	if v.Root, version, err = readRoot(found[rootKey]); err != nil {
		return v, 0, err
	}
	for _, id := range want.IDs {
		n := tree.Node{ID: id}
		if stored, ok := found[nodeKey(id)]; ok {
			if n, err = readNode(stored); err != nil {
				return v, 0, err
			}
		}
		v.Nodes = append(v.Nodes, n)
	}
	// The count saves a query in the usual case.
	if want.Waiting > 0 && v.Root.Counts.Waiting > 0 {
		if v.Waiting, err = s.todo(ctx, want.Root, todoWaiting, min(want.Waiting, batch)); err != nil {
			return v, 0, err
		}
	}
	if want.Claimer != nil && version > 0 {
		v.Claimed, err = s.todo(ctx, want.Root, todoClaimed+want.Claimer.String()+"#", maxClaimed)
	}
	return v, version, err
}

// version reads the version of a root.
func (s *Store) version(ctx context.Context, root string) (int64, error) {
	found, err := s.get(ctx, root, []string{rootKey})
	if err != nil {
		return 0, err
	}
	_, version, err := readRoot(found[rootKey])
	return version, err
}

// get reads elements of a tree by their sort keys. Keys without an element are missing in the result. DynamoDB may
// answer a part of a request under load; get repeats the rest.
func (s *Store) get(ctx context.Context, root string, keys []string) (map[string]element, error) {
	found := map[string]element{}
	for len(keys) > 0 {
		n := min(len(keys), 100) // the bound of BatchGetItem
		ask := types.KeysAndAttributes{ConsistentRead: aws.Bool(true)}
		for _, k := range keys[:n] {
			ask.Keys = append(ask.Keys, element{partition: attribute.Text(root), sort: attribute.Text(k)})
		}
		keys = keys[n:]
		asked := map[string]types.KeysAndAttributes{s.table: ask}
		for try := 1; len(asked) > 0; try++ {
			out, err := s.api.BatchGetItem(ctx, &dynamodb.BatchGetItemInput{RequestItems: asked})
			if err != nil {
				return nil, err
			}
			for _, e := range out.Responses[s.table] {
				found[attribute.TextOf(e[sort])] = e
			}
			if asked = out.UnprocessedKeys; len(asked) > 0 {
				if try == maxTries {
					return nil, errors.New("the table does not keep up; give it more capacity")
				}
				if err := pause(ctx, try); err != nil {
					return nil, err
				}
			}
		}
	}
	return found, nil
}

// todo reads nodes from the local index by a prefix of their attribute todo.
func (s *Store) todo(ctx context.Context, root, prefix string, most int) ([]tree.Node, error) {
	return s.query(ctx, most, dynamodb.QueryInput{
		IndexName:                 aws.String(todoIndex),
		KeyConditionExpression:    aws.String("#p = :p AND begins_with(#t, :t)"),
		ExpressionAttributeNames:  map[string]string{"#p": partition, "#t": todo},
		ExpressionAttributeValues: element{":p": attribute.Text(root), ":t": attribute.Text(prefix)},
	})
}

// query reads pages until it has `most` nodes, or there are no more. With a filter no limit is set, because DynamoDB's
// limit counts elements before the filter.
func (s *Store) query(ctx context.Context, most int, in dynamodb.QueryInput) (nodes []tree.Node, err error) {
	in.TableName, in.ConsistentRead = &s.table, aws.Bool(true)
	if in.FilterExpression == nil {
		in.Limit = aws.Int32(int32(most))
	}
	for {
		out, err := s.api.Query(ctx, &in)
		if err != nil {
			return nil, err
		}
		for _, e := range out.Items {
			n, err := readNode(e)
			if err != nil {
				return nil, err
			}
			if nodes = append(nodes, n); len(nodes) == most {
				return nodes, nil
			}
		}
		if in.ExclusiveStartKey = out.LastEvaluatedKey; len(in.ExclusiveStartKey) == 0 {
			return nodes, nil
		}
	}
}

// keep writes a change in one transaction, under the condition that the root still has the given version. A new root is
// also added to the list of roots, which DynamoDB cannot derive without a scan of the table.
func (s *Store) keep(ctx context.Context, c tree.Change, version int64) error {
	body, err := json.Marshal(c.Root)
	if err != nil {
		return err
	}
	put := func(e element) types.TransactWriteItem {
		return types.TransactWriteItem{Put: &types.Put{TableName: &s.table, Item: e}}
	}
	root := put(element{
		partition: attribute.Text(c.Root.ID), sort: attribute.Text(rootKey),
		attrVersion: attribute.Number(version + 1), attrBody: attribute.Text(string(body)),
	})
	in := &dynamodb.TransactWriteItemsInput{}
	root.Put.ExpressionAttributeNames = map[string]string{"#v": attrVersion}
	// The first write must not meet another first write; any later one must meet the version it read.
	if version == 0 {
		root.Put.ConditionExpression = aws.String("attribute_not_exists(#v)")
		in.TransactItems = append(in.TransactItems, put(element{partition: attribute.Text(listOfRoots),
			sort: attribute.Text(c.Root.ID)}))
	} else {
		root.Put.ConditionExpression = aws.String("#v = :v")
		root.Put.ExpressionAttributeValues = element{":v": attribute.Number(version)}
	}
	in.TransactItems = append(in.TransactItems, root)
	for _, n := range c.Nodes {
		in.TransactItems = append(in.TransactItems, put(nodeElement(c.Root.ID, n)))
	}
	_, err = s.api.TransactWriteItems(ctx, in)
	if conflict(err) {
		return errConflict
	}
	return err
}

// conflict tells whether a transaction failed only because of others: a changed version, a concurrent transaction, or
// throttling. Then it can be repeated. Any other reason makes it a failure.
func conflict(err error) bool {
	if _, ok := errors.AsType[*types.TransactionInProgressException](err); ok {
		return true
	}
	cancelled, ok := errors.AsType[*types.TransactionCanceledException](err)
	if !ok {
		return false
	}
	// The reasons come in the order of the elements, "None" for those that were not the cause.
	met := false
	for _, r := range cancelled.CancellationReasons {
		switch aws.ToString(r.Code) {
		case "", "None":
		case "ConditionalCheckFailed", "TransactionConflict", "ThrottlingError", "ProvisionedThroughputExceeded":
			met = true
		default:
			return false
		}
	}
	return met
}

// Roots implements [tree.Store].
func (s *Store) Roots(ctx context.Context) ([]tree.Root, error) {
	return s.roots(ctx, math.MaxInt, func(string) bool { return false })
}

// Running returns running roots and others, at most limit of them, except those for which skip is true. Each costs a
// read, so the caller skips the roots that it knows to have ended.
func (s *Store) Running(ctx context.Context, limit int, skip func(id string) bool) ([]tree.Root, error) {
	return s.roots(ctx, limit, skip)
}

// roots reads the roots in the list of roots, one by one.
func (s *Store) roots(ctx context.Context, limit int, skip func(id string) bool) ([]tree.Root, error) {
	roots := []tree.Root{}
	in := &dynamodb.QueryInput{
		TableName: &s.table, ConsistentRead: aws.Bool(true), KeyConditionExpression: aws.String("#p = :p"),
		ExpressionAttributeNames:  map[string]string{"#p": partition},
		ExpressionAttributeValues: element{":p": attribute.Text(listOfRoots)},
	}
	for {
		out, err := s.api.Query(ctx, in)
		if err != nil {
			return nil, s.failed("list the trees", err)
		}
		for _, e := range out.Items {
			if skip(attribute.TextOf(e[sort])) {
				continue
			}
			if len(roots) == limit {
				return roots, nil
			}
			// The list has names alone: were the roots in it, every step would write to this one partition.
			found, err := s.get(ctx, attribute.TextOf(e[sort]), []string{rootKey})
			if err != nil {
				return nil, s.failed("list the trees", err)
			}
			r, _, err := readRoot(found[rootKey])
			if err != nil {
				return nil, s.failed("list the trees", err)
			}
			if r.ID != "" && r.State != tree.Removed {
				roots = append(roots, r)
			}
		}
		if in.ExclusiveStartKey = out.LastEvaluatedKey; len(in.ExclusiveStartKey) == 0 {
			return roots, nil
		}
	}
}

// Erase implements [tree.Eraser]. It erases in batches; a conflict repeats a batch.
func (s *Store) Erase(ctx context.Context, root string) error {
	for {
		nodes, err := s.Nodes(ctx, root, tree.Filter{Limit: tree.MaxBatch})
		if err != nil || len(nodes) == 0 {
			return err
		}
		in := &dynamodb.TransactWriteItemsInput{}
		for _, n := range nodes {
			in.TransactItems = append(in.TransactItems, types.TransactWriteItem{Delete: &types.Delete{
				TableName: &s.table, Key: element{partition: attribute.Text(root), sort: attribute.Text(nodeKey(n.ID))},
			}})
		}
		// After a conflict the loop reads the nodes again and repeats what is left.
		if _, err := s.api.TransactWriteItems(ctx, in); err != nil && !conflict(err) {
			return s.failed("erase the nodes of the tree "+root, err)
		}
	}
}

// Nodes implements [tree.Store]. Failed nodes come from the index, because they are few among many; other states are
// filtered while reading.
func (s *Store) Nodes(ctx context.Context, root string, f tree.Filter) ([]tree.Node, error) {
	if err := f.Check(); err != nil {
		return nil, err
	}
	what := "list nodes of the tree " + root
	// A query of a missing partition is empty, so the root tells a tree without such nodes from a missing tree.
	if version, err := s.version(ctx, root); err != nil {
		return nil, s.failed(what, err)
	} else if version == 0 {
		return nil, tree.ErrNoRoot
	}
	// Sort keys of nodes are ASCII: "#" sorts right after the key itself, "~" after every key with the prefix.
	in := dynamodb.QueryInput{
		KeyConditionExpression:   aws.String("#p = :p AND #s BETWEEN :after AND :last"),
		ExpressionAttributeNames: map[string]string{"#p": partition, "#s": sort},
		ExpressionAttributeValues: element{":p": attribute.Text(root), ":after": attribute.Text(nodeKey(f.After) + "#"),
			":last": attribute.Text(nodePrefix + "~")},
	}
	if len(f.States) == 1 && f.States[0] == tree.Failed {
		in.IndexName = aws.String(todoIndex)
		in.ExpressionAttributeNames["#s"] = todo
		in.ExpressionAttributeValues[":after"],
			in.ExpressionAttributeValues[":last"] = attribute.Text(todoFailed+f.After.String()+"#"),
			attribute.Text(todoFailed+"~")
	} else if len(f.States) > 0 {
		list := ""
		for i, state := range f.States {
			name := ":s" + strconv.Itoa(i)
			in.ExpressionAttributeValues[name] = attribute.Text(state.String())
			if list += name; i < len(f.States)-1 {
				list += ", "
			}
		}
		in.FilterExpression = aws.String("#state IN (" + list + ")")
		in.ExpressionAttributeNames["#state"] = attrState
	}
	nodes, err := s.query(ctx, f.Limit, in)
	if err != nil {
		return nil, s.failed(what, err)
	}
	return nodes, nil
}

// Failure is an error of the table. Its text says what was attempted, and what to do where that is known.
type Failure struct {
	text string
	err  error
}

// Error returns the text in one line.
func (f *Failure) Error() string { return f.text }

// Unwrap returns the error of the DynamoDB client.
func (f *Failure) Unwrap() error { return f.err }

// Is tells whether err is a failure of the table, in contrast to a step that was refused.
func Is(err error) bool {
	_, ok := errors.AsType[*Failure](err)
	return ok
}

// failed wraps an error of the client in a [Failure]; nil and conflicts pass unchanged.
func (s *Store) failed(what string, err error) error {
	if err == nil || errors.Is(err, errConflict) {
		return err
	}
	if _, missing := errors.AsType[*types.ResourceNotFoundException](err); missing {
		return &Failure{fmt.Sprintf("%s: there is no table %s in this region and account; muster tree submit makes it",
			what, s.table), err}
	}
	return &Failure{fmt.Sprintf("%s in the table %s: %v", what, s.table, err), err}
}
