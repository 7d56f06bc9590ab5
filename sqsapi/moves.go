package sqsapi

import (
	"encoding/base64"
	"encoding/json"
	"strings"

	"github.com/muster-scale/muster/queue"
)

type startMoveRequest struct {
	SourceARN                    *string `json:"SourceArn"`
	DestinationARN               *string `json:"DestinationArn"`
	MaxNumberOfMessagesPerSecond *int
}

type taskHandleResult struct {
	TaskHandle string
}

func (c *call) startMessageMoveTask(r *startMoveRequest) (any, error) {
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
	rate := 0
	if r.MaxNumberOfMessagesPerSecond != nil {
		if rate = *r.MaxNumberOfMessagesPerSecond; rate == 0 {
			rate = -1 // given, and out of range
		}
	}
	id, err := c.Queues.StartMove(c.ctx, source, destination, rate)
	if err != nil {
		return nil, err
	}
	handle, err := c.taskHandle(id, source)
	return taskHandleResult{handle}, err
}

// nameOf is the queue that an ARN of this endpoint names.
func (c *call) nameOf(parameter string, arn *string) (string, error) {
	if arn == nil || *arn == "" {
		return "", missing(parameter)
	}
	name, ok := strings.CutPrefix(*arn, c.arn(""))
	if !ok || name == "" {
		return "", &queue.Error{Kind: queue.ErrNotFound, Text: "The resource that you specified for the " + parameter + " parameter doesn't exist."}
	}
	return name, nil
}

// task is what a task handle holds, in base 64 of its JSON.
type task struct {
	ID     string `json:"taskId"`
	Source string `json:"sourceArn"`
}

func (c *call) taskHandle(id, source string) (string, error) {
	text, err := json.Marshal(task{id, c.arn(source)})
	return base64.StdEncoding.EncodeToString(text), err
}

type listMovesRequest struct {
	SourceARN  *string `json:"SourceArn"`
	MaxResults *int
}

// moveResult is one task; the handle is shown while it can be used.
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

func (c *call) listMessageMoveTasks(r *listMovesRequest) (any, error) {
	source, err := c.nameOf("SourceArn", r.SourceARN)
	if err != nil {
		return nil, err
	}
	limit := 1
	if r.MaxResults != nil {
		if limit = *r.MaxResults; limit < 1 || limit > maxMovesListed {
			return nil, invalid(limit, "MaxResults", "Must be between 1 and 10, if provided.")
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

func (c *call) cancelMessageMoveTask(r *cancelMoveRequest) (any, error) {
	if r.TaskHandle == nil || *r.TaskHandle == "" {
		return nil, missing("TaskHandle")
	}
	var t task
	text, err := base64.StdEncoding.DecodeString(*r.TaskHandle)
	if err != nil || json.Unmarshal(text, &t) != nil {
		return nil, invalid(quote(*r.TaskHandle), "TaskHandle", "It was not returned by StartMessageMoveTask.")
	}
	moved, err := c.Queues.CancelMove(c.ctx, t.ID)
	if err != nil {
		return nil, err
	}
	return cancelMoveResult{moved}, nil
}
