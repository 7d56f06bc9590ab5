package dynamotree

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/muster-scale/muster/internal/attribute"
	"github.com/muster-scale/muster/tree"
)

// The attributes of the table. Each tree is a partition. Its sort keys are "r" for the root and "n#" with the id for a
// node. One more partition lists the roots. The attribute todo exists only on nodes that wait, are claimed or failed:
// the local index holds exactly these.
const (
	partition = "tree"
	sort      = "element"
	todo      = "todo"
	todoIndex = "todo"

	attrVersion  = "version"
	attrBody     = "body"
	attrParent   = "parent"
	attrKey      = "key"
	attrDepth    = "depth"
	attrAttempts = "attempts"
	attrChildren = "children"
	attrState    = "state"
	attrReason   = "reason"
	attrClaimer  = "claimer"

	rootKey     = "r"
	nodePrefix  = "n#"
	listOfRoots = "#roots" // not a valid name of a tree

	todoWaiting = "w#" // then the node's id
	todoClaimed = "c#" // then the claimer's id, "#" and the node's id
	todoFailed  = "f#" // then the node's id
)

// element is a DynamoDB item: the attributes under one key.
type element = attribute.Element

// nodeKey returns the sort key of a node.
func nodeKey(id tree.ID) string { return nodePrefix + id.String() }

// nodeElement returns the element of a node.
func nodeElement(root string, n tree.Node) element {
	e := element{
		partition: attribute.Text(root), sort: attribute.Text(nodeKey(n.ID)),
		attrParent: attribute.Text(n.Parent.String()), attrKey: attribute.Text(n.Key),
		attrBody:  attribute.Text(n.Body),
		attrDepth: attribute.Number(int64(n.Depth)), attrAttempts: attribute.Number(int64(n.Attempts)),
		attrChildren: attribute.Number(n.Children),
		attrState:    attribute.Text(n.State.String()), attrClaimer: attribute.Text(n.Claimer.String()),
		attrReason: attribute.Text(n.Reason),
	}
	// Nodes that are sent or done have no attribute todo, and so no entry in the index.
	switch id := n.ID.String(); n.State {
	case tree.Waiting:
		e[todo] = attribute.Text(todoWaiting + id)
	case tree.Claimed:
		e[todo] = attribute.Text(todoClaimed + n.Claimer.String() + "#" + id)
	case tree.Failed:
		e[todo] = attribute.Text(todoFailed + id)
	}
	return e
}

// readNode returns the node of an element. People and other programs can edit a table, so every attribute is checked.
func readNode(e element) (n tree.Node, err error) {
	key := attribute.TextOf(e[sort])
	fault := func(what string, err error) (tree.Node, error) {
		return tree.Node{}, fmt.Errorf("read the element %q of the tree %q: its %s: %w", key,
			attribute.TextOf(e[partition]),
			what, err)
	}
	if len(key) < len(nodePrefix) {
		return fault(sort, errors.New("it is not the key of a node"))
	}
	// The loops collect the attribute's name, so that an error names what is wrong.
	for _, f := range []struct {
		what, from string
		to         *tree.ID
	}{{sort, key[len(nodePrefix):], &n.ID}, {attrParent, attribute.TextOf(e[attrParent]), &n.Parent}, {attrClaimer,
		attribute.TextOf(e[attrClaimer]), &n.Claimer}} {
		if *f.to, err = tree.ParseID(f.from); err != nil {
			return fault(f.what, err)
		}
	}
	for _, f := range []struct {
		what string
		to   func(int64)
	}{
		{attrDepth, func(i int64) { n.Depth = int32(i) }}, {attrAttempts, func(i int64) { n.Attempts = int32(i) }},
		{attrChildren, func(i int64) { n.Children = i }},
	} {
		i, err := attribute.NumberOf(e[f.what])
		if err != nil {
			return fault(f.what, err)
		}
		f.to(i)
	}
	if err := n.State.UnmarshalText([]byte(attribute.TextOf(e[attrState]))); err != nil {
		return fault(attrState, err)
	}
	n.Key, n.Body, n.Reason = attribute.TextOf(e[attrKey]), attribute.TextOf(e[attrBody]),
		attribute.TextOf(e[attrReason])
	return n, nil
}

// readRoot returns a root and its version. An empty element is no root, of version 0.
func readRoot(e element) (r tree.Root, version int64, err error) {
	if len(e) == 0 {
		return r, 0, nil
	}
	if version, err = attribute.NumberOf(e[attrVersion]); err == nil {
		err = json.Unmarshal([]byte(attribute.TextOf(e[attrBody])), &r)
	}
	if err != nil {
		return tree.Root{}, 0, fmt.Errorf("read the root of the tree %q: %w", attribute.TextOf(e[partition]), err)
	}
	return r, version, nil
}

// createPatience bounds the wait for a new table.
const createPatience = 2 * time.Minute

// Creator is the part of DynamoDB's client that [Create] needs.
type Creator interface {
	CreateTable(context.Context, *dynamodb.CreateTableInput, ...func(*dynamodb.Options)) (*dynamodb.CreateTableOutput,
		error)
	DescribeTable(context.Context, *dynamodb.DescribeTableInput,
		...func(*dynamodb.Options)) (*dynamodb.DescribeTableOutput, error)
}

// Create makes the table, unless it exists, and waits until it can be used. The table is billed per request. Its key
// schema and its index are described in elements.go; a table with other keys cannot be used.
func Create(ctx context.Context, api Creator, table string) error {
	attribute := func(name string) types.AttributeDefinition {
		return types.AttributeDefinition{AttributeName: &name, AttributeType: types.ScalarAttributeTypeS}
	}
	keys := func(sort string) []types.KeySchemaElement {
		return []types.KeySchemaElement{{AttributeName: aws.String(partition), KeyType: types.KeyTypeHash},
			{AttributeName: &sort, KeyType: types.KeyTypeRange}}
	}
	// The index is local: only local indexes allow consistent reads, which a step needs.
	_, err := api.CreateTable(ctx, &dynamodb.CreateTableInput{
		TableName: &table, BillingMode: types.BillingModePayPerRequest, KeySchema: keys(sort),
		AttributeDefinitions: []types.AttributeDefinition{attribute(partition), attribute(sort), attribute(todo)},
		LocalSecondaryIndexes: []types.LocalSecondaryIndex{{
			IndexName: aws.String(todoIndex), KeySchema: keys(todo),
			Projection: &types.Projection{ProjectionType: types.ProjectionTypeAll},
		}},
	})
	if _, there := errors.AsType[*types.ResourceInUseException](err); err != nil && !there {
		return fmt.Errorf("make the table %s: %w", table, err)
	}
	if err := dynamodb.NewTableExistsWaiter(api).Wait(ctx, &dynamodb.DescribeTableInput{TableName: &table},
		createPatience); err != nil {
		return fmt.Errorf("wait for the table %s: %w", table, err)
	}
	return nil
}
