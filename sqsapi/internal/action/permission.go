// AddPermission and RemovePermission, which edit the Policy attribute. The policy is kept and shown,
// not enforced: the key pair alone decides about access.

package action

import (
	"encoding/json"
	"net/http"
	"slices"

	"github.com/muster-scale/muster/sqsapi/internal/protocol"
)

// The limits of AWS for a permission and for the policy that holds it.
const (
	maxLabel      = 80
	maxStatements = 20
	maxActions    = 7
	accountDigits = 12
)

// policy is the Policy attribute as AddPermission writes it. Statements stay raw JSON, so that parts
// unknown here are kept.
type policy struct {
	Version   string            `json:"Version"`
	ID        string            `json:"Id,omitempty"`
	Statement []json.RawMessage `json:"Statement"`
}

// statement is a statement that AddPermission adds.
type statement struct {
	SID       string `json:"Sid"`
	Effect    string `json:"Effect"`
	Principal struct {
		AWS any `json:"AWS"`
	} `json:"Principal"`
	Action   any    `json:"Action"`
	Resource string `json:"Resource"`
}

// sidOf returns the label of a statement, or the empty text.
func sidOf(raw json.RawMessage) string {
	var s struct{ Sid string }
	if json.Unmarshal(raw, &s) != nil {
		return "" // a statement of another form has no label
	}
	return s.Sid
}

// readPolicy parses the policy of the queue name. Without one it returns the empty policy that AWS
// starts with.
func (s *Service) readPolicy(text, name string) (p policy, err error) {
	if text == "" {
		return policy{Version: "2008-10-17", ID: s.arn(name) + "/SQSDefaultPolicy"}, nil
	}
	if err := json.Unmarshal([]byte(text), &p); err != nil {
		return p, protocol.Invalid(protocol.Clip(text), "Policy",
			"The policy of the queue has another form than a list of statements; set it as a whole.")
	}
	return p, nil
}

type addPermissionRequest struct {
	queueRequest
	Label         *string
	AWSAccountIDs []string `json:"AWSAccountIds" query:"AWSAccountId"`
	Actions       []string `query:"ActionName"`
}

// addPermission adds a statement to the policy of a queue.
func (c *Call) addPermission(r *addPermissionRequest) (any, error) {
	name, err := c.queueName(r.QueueURL)
	if err != nil {
		return nil, err
	}
	if err := r.check(c.Actions); err != nil {
		return nil, err
	}
	var s statement
	s.SID, s.Effect, s.Resource = *r.Label, "Allow", c.arn(name)
	// Accounts and actions in the forms that AWS writes into a policy.
	var accounts, actions []string
	for _, id := range r.AWSAccountIDs {
		accounts = append(accounts, "arn:aws:iam::"+id+":root")
	}
	for _, action := range r.Actions {
		actions = append(actions, "SQS:"+action)
	}
	s.Principal.AWS, s.Action = oneOrMore(accounts), oneOrMore(actions)
	return nil, c.editPolicy(name, func(p *policy) error {
		// Both checks run inside the edit, so that two concurrent additions cannot pass them together.
		if slices.ContainsFunc(p.Statement, func(raw json.RawMessage) bool { return sidOf(raw) == *r.Label }) {
			return protocol.Invalid(*r.Label, "Label", "Already exists.")
		}
		if len(p.Statement) >= maxStatements {
			return overLimit(
				"%d Statements were found, maximum allowed is %d.", len(p.Statement)+1, maxStatements)
		}
		raw, err := json.Marshal(s)
		p.Statement = append(p.Statement, raw)
		return err
	})
}

// overLimit is the refusal of more than a limit allows.
func overLimit(format string, args ...any) error {
	return protocol.Typed("OverLimit", "OverLimit", http.StatusForbidden, format, args...)
}

// oneOrMore returns a list as policies write it: a single element without brackets.
func oneOrMore(list []string) any {
	if len(list) == 1 {
		return list[0]
	}
	return list
}

// check validates the request. known tells which actions may be granted.
func (r *addPermissionRequest) check(known map[string]Row) error {
	switch {
	case r.Label == nil || *r.Label == "":
		return protocol.Missing("Label")
	case len(*r.Label) > maxLabel || !isName(*r.Label):
		return protocol.Invalid(protocol.Clip(*r.Label), "Label",
			"Can only include alphanumeric characters, hyphens, or underscores. 1 to 80 in length.")
	case len(r.Actions) == 0:
		return protocol.Missing("ActionName")
	case len(r.AWSAccountIDs) == 0:
		return protocol.Missing("AWSAccountIds")
	case len(r.Actions) > maxActions:
		return overLimit(
			"%d Actions were found, maximum allowed is %d.", len(r.Actions), maxActions)
	}
	for _, id := range r.AWSAccountIDs {
		if !IsAccount(id) {
			return protocol.Invalid("["+protocol.Clip(id)+"]", "PrincipalId", "Unable to verify.")
		}
	}
	for _, action := range r.Actions {
		switch row, ok := known[action]; {
		case action == "*", ok && row.grant == grantable:
		case ok && row.grant == ownerOnly:
			return protocol.Invalid("SQS:"+action, "ActionName", "Only the queue owner is allowed to invoke this "+
				"action.")
		default:
			return protocol.Invalid("SQS:"+protocol.Clip(action), "ActionName",
				"Please refer to the appropriate WSDL for a list of valid actions.")
		}
	}
	return nil
}

type removePermissionRequest struct {
	queueRequest
	Label *string
}

// removePermission removes the statement with a label from the policy of a queue.
func (c *Call) removePermission(r *removePermissionRequest) (any, error) {
	name, err := c.queueName(r.QueueURL)
	if err != nil {
		return nil, err
	}
	if r.Label == nil || *r.Label == "" {
		return nil, protocol.Missing("Label")
	}
	return nil, c.editPolicy(name, func(p *policy) error {
		before := len(p.Statement)
		p.Statement = slices.DeleteFunc(p.Statement, func(raw json.RawMessage) bool { return sidOf(raw) == *r.Label })
		if len(p.Statement) == before {
			return protocol.Invalid(protocol.Clip(*r.Label), "Label", "can't find label.")
		}
		return nil
	})
}

// editPolicy changes the policy of a queue atomically. A policy without statements is removed.
func (c *Call) editPolicy(name string, edit func(*policy) error) error {
	return c.Queues.EditPolicy(c.Context, name, func(text string) (string, error) {
		p, err := c.readPolicy(text, name)
		if err == nil {
			err = edit(&p)
		}
		if err != nil || len(p.Statement) == 0 {
			return "", err
		}
		out, err := json.Marshal(p)
		return string(out), err
	})
}
