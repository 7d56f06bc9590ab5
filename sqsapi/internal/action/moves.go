// Message move tasks: moving the messages of a dead-letter queue.

package action

import (
	"encoding/base64"
	"encoding/json"
	"strconv"
	"strings"

	"github.com/muster-scale/muster/queue"
	"github.com/muster-scale/muster/sqsapi/internal/protocol"
)

// startMoveRequest has pointers, because a missing parameter and an empty one are refused differently.
type startMoveRequest struct {
	SourceARN                    *string `json:"SourceArn"`
	DestinationARN               *string `json:"DestinationArn"`
	MaxNumberOfMessagesPerSecond *int
}

type taskHandleResult struct {
	TaskHandle string
}

// startMessageMoveTask starts a move. Absent and 0 differ for the rate: absent means no limit, 0 is
// refused.
func (c *Call) startMessageMoveTask(r *startMoveRequest) (any, error) {
	source, err := c.nameOf("SourceArn", r.SourceARN)
	if err != nil {
		return nil, err
	}
	destination := ""
	if r.DestinationARN != nil {
		if destination, err = c.nameOf("DestinationArn", r.DestinationARN); err != nil {
			return nil, err
		}
	}
	// 0 means no limit to package queue.
	rate := 0
	if r.MaxNumberOfMessagesPerSecond != nil {
		if rate = *r.MaxNumberOfMessagesPerSecond; rate == 0 {
			rate = -1 // 0 was given, which is out of range
		}
	}
	id, err := c.Queues.StartMove(c.Context, source, destination, rate)
	if err != nil {
		return nil, err
	}
	handle, err := c.taskHandle(id, source)
	return taskHandleResult{handle}, err
}

// nameOf returns the key of the queue that an ARN names. parameter is for the error.
func (c *Call) nameOf(parameter string, arn *string) (string, error) {
	if arn == nil {
		return "", protocol.Missing(parameter)
	}
	parts := strings.Split(*arn, ":")
	if len(parts) != 6 || parts[0] != "arn" || parts[2] != "sqs" {
		return "", &queue.Error{Kind: queue.ErrInvalidParameter,
			Text: "You must use this format to specify the " + parameter +
				": arn:<partition>:<service>:<region>:<account-id>:<resource-id>"}
	}
	return c.key(Place{parts[3], parts[4]}, parts[5]), nil
}

// task is the content of a task handle, as base 64 of its JSON. As at AWS the id is a UUID; its second
// half is the number of the move.
type task struct {
	ID     string `json:"taskId"`
	Source string `json:"sourceArn"`
}

// taskIDStart is the first half of every task id. It makes a UUID of version 8, whose content is free
// (RFC 9562, section 5.8). The letters spell "muster" in ASCII.
const taskIDStart = "6d757374-6572-8000-"

// taskHandle returns the handle of a move. The id is checked to fit 62 bits, which leaves room for the
// variant of the UUID.
func (c *Call) taskHandle(id, source string) (string, error) {
	n, err := strconv.ParseUint(id, 10, 62)
	if err != nil {
		return "", err
	}
	// The highest bit of the second half is the variant of the UUID, so the number may use the others.
	digits := strconv.FormatUint(n|1<<63, 16) // 16 digits; the set bit is the variant of a UUID
	text, err := json.Marshal(task{taskIDStart + digits[:4] + "-" + digits[4:], c.arn(source)})
	return base64.StdEncoding.EncodeToString(text), err
}

// move returns the id of the move that t names; empty if t is not a task of this service.
func (t *task) move() string {
	digits, ok := strings.CutPrefix(t.ID, taskIDStart)
	n, err := strconv.ParseUint(strings.Replace(digits, "-", "", 1), 16, 64)
	if !ok || err != nil {
		return ""
	}
	return strconv.FormatUint(n&^(1<<63), 10)
}

type listMovesRequest struct {
	SourceARN  *string `json:"SourceArn"`
	MaxResults *int
}

// moveResult is one task in a listing. The handle is shown while the task can be cancelled.
type moveResult struct {
	TaskHandle                        string `json:",omitempty"`
	Status                            string
	SourceARN                         string `json:"SourceArn"`
	DestinationARN                    string `json:"DestinationArn,omitempty"`
	MaxNumberOfMessagesPerSecond      int    `json:",omitempty"`
	ApproximateNumberOfMessagesMoved  int
	ApproximateNumberOfMessagesToMove int
	FailureReason                     string `json:",omitempty"`
	StartedTimestamp                  int64
}

type listMovesResult struct {
	Results []moveResult `json:",omitempty" query:"ListMessageMoveTasksResultEntry"`
}

// maxMovesListed bounds a listing of tasks.
const maxMovesListed = 10

// listMessageMoveTasks lists the latest moves out of a queue, one by default.
func (c *Call) listMessageMoveTasks(r *listMovesRequest) (any, error) {
	source, err := c.nameOf("SourceArn", r.SourceARN)
	if err != nil {
		return nil, err
	}
	limit := 1
	if r.MaxResults != nil {
		if limit = *r.MaxResults; limit < 1 || limit > maxMovesListed {
			return nil, &queue.Error{Kind: queue.ErrInvalidParameter,
				Text: "Value for parameter MaxResults is invalid. Reason: You must enter a number that's between 1 " +
					"and 10."}
		}
	}
	moves, err := c.Queues.Moves(source)
	if err != nil {
		return nil, err
	}
	var result listMovesResult
	for _, m := range moves[:min(limit, len(moves))] {
		one := moveResult{
			Status: string(m.Status), SourceARN: c.arn(m.Source), MaxNumberOfMessagesPerSecond: m.PerSecond,
			ApproximateNumberOfMessagesMoved: m.Moved, ApproximateNumberOfMessagesToMove: m.ToMove,
			FailureReason: m.Failure, StartedTimestamp: m.Started.UnixMilli(),
		}
		if m.Destination != "" {
			one.DestinationARN = c.arn(m.Destination)
		}
		// Only a running task has a handle, since only it can be cancelled.
		if m.Status == queue.MoveRunning {
			if one.TaskHandle, err = c.taskHandle(m.ID, m.Source); err != nil {
				return nil, err
			}
		}
		result.Results = append(result.Results, one)
	}
	return result, nil
}

type cancelMoveRequest struct {
	TaskHandle *string
}

type cancelMoveResult struct {
	ApproximateNumberOfMessagesMoved int
}

// cancelMessageMoveTask ends a move. A handle of an unknown queue is refused before the task is looked
// up.
func (c *Call) cancelMessageMoveTask(r *cancelMoveRequest) (any, error) {
	if r.TaskHandle == nil || *r.TaskHandle == "" {
		return nil, protocol.Missing("TaskHandle")
	}
	var t task
	text, err := base64.StdEncoding.DecodeString(*r.TaskHandle)
	if err != nil || json.Unmarshal(text, &t) != nil || t.ID == "" || t.Source == "" {
		return nil, &queue.Error{Kind: queue.ErrInvalidParameter, Text: "Value for parameter TaskHandle is invalid."}
	}
	source, err := c.nameOf("SourceArn", &t.Source)
	if err != nil {
		return nil, err
	}
	if _, err := c.Queues.Moves(source); err != nil {
		return nil, err
	}
	moved, err := c.Queues.CancelMove(c.Context, t.move())
	if err != nil {
		return nil, err
	}
	return cancelMoveResult{moved}, nil
}
