package sqsapi

// action runs one action, whose parameters decode fills in.
type action func(c *call, decode func(into any) error) (any, error)

// actions are all that is offered; a new one is a row here.
var actions = map[string]action{
	"CreateQueue":                  bind((*call).createQueue),
	"GetQueueUrl":                  bind((*call).getQueueURL),
	"ListQueues":                   bind((*call).listQueues),
	"DeleteQueue":                  bind((*call).deleteQueue),
	"PurgeQueue":                   bind((*call).purgeQueue),
	"GetQueueAttributes":           bind((*call).getQueueAttributes),
	"SetQueueAttributes":           bind((*call).setQueueAttributes),
	"ListQueueTags":                bind((*call).listQueueTags),
	"TagQueue":                     bind((*call).tagQueue),
	"UntagQueue":                   bind((*call).untagQueue),
	"ListDeadLetterSourceQueues":   bind((*call).listDeadLetterSourceQueues),
	"SendMessage":                  bind((*call).sendMessage),
	"SendMessageBatch":             bind((*call).sendMessageBatch),
	"ReceiveMessage":               bind((*call).receiveMessage),
	"DeleteMessage":                bind((*call).deleteMessage),
	"DeleteMessageBatch":           bind((*call).deleteMessageBatch),
	"ChangeMessageVisibility":      bind((*call).changeMessageVisibility),
	"ChangeMessageVisibilityBatch": bind((*call).changeMessageVisibilityBatch),
	"StartMessageMoveTask":         bind((*call).startMessageMoveTask),
	"ListMessageMoveTasks":         bind((*call).listMessageMoveTasks),
	"CancelMessageMoveTask":        bind((*call).cancelMessageMoveTask),
	"AddPermission":                bind((*call).addPermission),
	"RemovePermission":             bind((*call).removePermission),
}

// bind makes an action of a method with typed parameters.
func bind[Request any](run func(*call, *Request) (any, error)) action {
	return func(c *call, decode func(into any) error) (any, error) {
		var request Request
		if err := decode(&request); err != nil {
			return nil, err
		}
		return run(c, &request)
	}
}
